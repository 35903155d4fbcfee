"""What each release of Kafka can read in a metadata log, its snapshots and quorum-state.

The facts are from Kafka's message definitions (metadata, raft and clients of apache/kafka),
MetadataVersion, Feature, ControlRecordType and QuorumStateData: from the classes of 3.9.2, 4.0.0,
4.1.2, 4.2.0, 4.3.1 and 4.4.0, and for 3.7 and 3.8 from the sources of these branches. tests/drift
compares the table with the classes of the releases that tests run with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replica.metadata.changes.releases import NEWEST_LEVELS
from replica.metadata.records import RECORDS
from replica.model.control import KRAFT_VERSION

_RELEASES = tuple(NEWEST_LEVELS)

_RECORDS_SINCE: Mapping[str, Mapping[str, int]] = {
    "REGISTER_BROKER_RECORD": {"3.7": 3, "4.3": 4},
    "BROKER_REGISTRATION_CHANGE_RECORD": {"3.7": 2, "4.3": 3},
    "CLEAR_ELR_RECORD": {"4.0": 0},
    "UNREGISTER_CONTROLLER_RECORD": {"4.4": 0},
}
"""Type -> release -> the newest version from this release on. All versions of each other type in
RECORDS are known since 3.7."""
_CONTROLS_SINCE: Mapping[str, Mapping[str, int]] = {
    "LEADER_CHANGE": {"3.7": 0, "3.9": 1},
    "SNAPSHOT_HEADER": {"3.7": 0},
    "SNAPSHOT_FOOTER": {"3.7": 0},
    "KRAFT_VERSION": {"3.8": 0},
    "KRAFT_VOTERS": {"3.8": 0},
}
_FEATURES_SINCE: Mapping[str, Mapping[str, int]] = {
    KRAFT_VERSION: {"3.9": 1},
    "eligible.leader.replicas.version": {"4.0": 1},
    "group.version": {"4.0": 1},
    "transaction.version": {"4.0": 2},
    "share.version": {"4.1": 1, "4.4": 2},
    "streams.version": {"4.2": 1},
}
"""Feature -> release -> the newest level that a cluster of this release may have (Kafka:
latestProduction)."""
_OLDEST_LEVELS = {"3.7": 1, "4.0": 7}
_BOOTSTRAP_LEVELS: Mapping[str, int | None] = {
    "3.7": 20, "3.8": 21, "3.9": 23, "4.0": 26, "4.1": None,
}  # fmt: skip
"""Release -> the newest level that its MetadataVersion names, including unstable levels. Up to 4.0
a starting controller looks up the level of bootstrap.checkpoint in MetadataVersion (Kafka:
BootstrapMetadata). None means that any level is accepted."""
_ANY_LEVEL = (1 << 15) - 1
_QUORUM_STATES = {"3.7": 0, "3.8": 1}


@dataclass(frozen=True, slots=True)
class Reader:
    """What a release can read."""

    release: str
    levels: range
    """The levels of metadata.version that the release supports."""
    features: Mapping[str, int]
    """The newest level of each feature except metadata.version. A missing feature is known only at
    level 0."""
    records: Mapping[str, int]
    """The newest version that the release can read of each type of metadata record."""
    controls: Mapping[str, int]
    """The newest version that the release can read of each type of control record."""
    bootstrap_level: int | None
    """The newest level of metadata.version that the release accepts in bootstrap.checkpoint; None
    if it accepts any level."""
    quorum_state: int
    """The newest version of quorum-state that the release can read."""

    def of_bootstrap(self) -> Reader:
        """What the release can read in a bootstrap.checkpoint beside a log with records. Its levels
        are applied only to an empty log."""
        last = _ANY_LEVEL if self.bootstrap_level is None else self.bootstrap_level
        features = dict.fromkeys(_FEATURES_SINCE, _ANY_LEVEL)
        return replace(self, levels=range(1, last + 1), features=features)


def reader_of(release: str) -> Reader:
    """What a release can read. release: a key of NEWEST_LEVELS."""
    last = NEWEST_LEVELS[release]
    others = {one.name: one.newest for one in RECORDS if one.name not in _RECORDS_SINCE}
    return Reader(
        release,
        range(_at(_OLDEST_LEVELS, release) or 0, last + 1),
        _known(_FEATURES_SINCE, release),
        others | _known(_RECORDS_SINCE, release),
        _known(_CONTROLS_SINCE, release),
        _at(_BOOTSTRAP_LEVELS, release),
        _at(_QUORUM_STATES, release) or 0,
    )


def _known(since: Mapping[str, Mapping[str, int]], release: str) -> dict[str, int]:
    found = {name: _at(numbers, release) for name, numbers in since.items()}
    return {name: number for name, number in found.items() if number is not None}


def _at(since: Mapping[str, int] | Mapping[str, int | None], release: str) -> int | None:
    """The number that holds for a release; None for a release before the first in `since`."""
    place = _RELEASES.index(release)
    numbers = [number for first, number in since.items() if _RELEASES.index(first) <= place]
    return numbers[-1] if numbers else None
