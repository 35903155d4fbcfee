"""Finds nodes whose newest registration doesn't support the level of a feature that is finalized:
they were put back to an older release of Kafka, and end soon after each start.

Kafka registers a controller whatever it supports. The controller ends once it reads the record of
the level. Kafka refuses to register such a broker, so a broker's registration may come from another
release, which it ran before.
"""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.features import RegisteredNode, registered_nodes
from replica.doctor.health.startable import startable_releases
from replica.metadata.changes.releases import NEWEST_LEVELS, level_text, release_of
from replica.metadata.image.settings import METADATA_VERSION
from replica.model.control import KRAFT_VERSION
from replica.words import listed

_READS = " supports the finalized levels"


def judge_unsupported(cluster: Cluster) -> Iterator[Finding]:
    """The finding about nodes that don't support a finalized level. Controllers that are no voters
    are left out: their nodes may be gone."""
    subjects = [
        Subject(node.name, told, node.offset)
        for node in registered_nodes(cluster)
        if not node.removal and node.fields["features"] and (told := _told(node, cluster))
    ]
    message = f"{needed_release(cluster)}{_READS}"
    yield from cluster.about(health.LEVEL_NOT_SUPPORTED, message, subjects)


def needed_release(cluster: Cluster) -> str:
    """The releases that support all finalized levels, such as `Kafka 4.1 or newer`."""
    for release in startable_releases(cluster):
        return f"Kafka {release} or newer"
    return f"a release after Kafka {[*NEWEST_LEVELS][-1]}"


def needed_by(finding: Finding) -> str:
    """The result of needed_release, taken from the message of a finding of judge_unsupported."""
    return finding.message.removesuffix(_READS)


def _told(node: RegisteredNode, cluster: Cluster) -> str:
    """Which levels the node does not support; "" if it supports all. A registration before the
    level was raised does not count: Kafka raises no level that a registered node does not support.
    """
    raised = cluster.offsets("features")
    lacks = [
        _lacks(name, level, node.highest.get(name, 0))
        for name, level in sorted(cluster.values("features").items())
        if name != KRAFT_VERSION
        and level > node.highest.get(name, 0)
        and node.offset >= raised[name]
    ]
    if not lacks:
        return ""
    of = _release(node.highest.get(METADATA_VERSION, 0))
    return f"last registered with {of}, which can't read {listed(lacks)}"


def _lacks(name: str, level: int, highest: int) -> str:
    own = "" if name == METADATA_VERSION else f" (it supports {highest})"
    return f"{name} {level_text(name, level)}{own}"


def _release(highest: int) -> str:
    """The levels of a registration, such as `Kafka 4.0's levels (up to 4.0-IV3)`."""
    named = [release for release, newest in NEWEST_LEVELS.items() if newest == highest]
    whose = f"Kafka {named[0]}'s levels" if named else "levels"
    return f"{whose} (up to {release_of(highest)})"
