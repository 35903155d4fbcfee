"""Finds the releases of Kafka that can start with the feature levels of the newest state. After a
level was raised, a node that is put back to an older release ends at its start."""

from __future__ import annotations

from replica.doctor.health.cluster import Cluster
from replica.metadata.changes.readers import Reader, reader_of
from replica.metadata.changes.releases import NEWEST_LEVELS, level_text
from replica.metadata.changes.unread import unread_level
from replica.metadata.image.settings import METADATA_VERSION
from replica.words import listed


def releases_text(cluster: Cluster) -> str:
    """A sentence about the releases that can start, if a level of a feature was changed after the
    newest registration of some broker; else "". No log shows the release of a node that did not
    register."""
    offsets, levels = cluster.offsets("features"), cluster.values("features")
    registered = cluster.offsets("brokers").values()
    changed = [one for one in levels if offsets[one] > min(registered, default=offsets[one])]
    if not changed:
        return ""
    known, able = [*NEWEST_LEVELS], startable_releases(cluster)
    changed.sort(key=lambda one: (one != METADATA_VERSION, one))
    told = listed([f"{one} is {level_text(one, levels[one])}" for one in changed])
    said = f"Levels were changed after brokers had started: {told}."
    if not able:
        return f"{said} Only a release after Kafka {known[-1]} can start on these logs."
    which = able[0] if len(able) == 1 else f"{able[0]} to {able[-1]}"
    older = "" if able[0] == known[0] else "; an older release ends at its start"
    return f"{said} Kafka {which} can start on these logs{older}."


def startable_releases(cluster: Cluster) -> list[str]:
    """The known releases of which a node starts with the levels of the newest state, the oldest
    first."""
    readers = map(reader_of, NEWEST_LEVELS)
    return [one.release for one in readers if _reads(one, cluster)]


def _reads(reader: Reader, cluster: Cluster) -> bool:
    return all(
        unread_level(reader, feature, level) is None
        for feature, level in cluster.values("features").items()
    )
