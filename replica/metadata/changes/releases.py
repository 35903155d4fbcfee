"""The names of metadata.version's levels (Kafka: MetadataVersion)."""

from __future__ import annotations

from replica.metadata.image.settings import METADATA_VERSION

RELEASES = {
    **{1: "3.0-IV1", 2: "3.1-IV0", 3: "3.2-IV0", 4: "3.3-IV0", 5: "3.3-IV1", 6: "3.3-IV2"},
    **{7: "3.3-IV3", 8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1", 11: "3.5-IV2", 12: "3.6-IV0"},
    **{13: "3.6-IV1", 14: "3.6-IV2", 15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2"},
    **{18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0", 21: "3.9-IV0", 22: "4.0-IV0"},
    **{23: "4.0-IV1", 24: "4.0-IV2", 25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1"},
    **{28: "4.2-IV0", 29: "4.2-IV1", 30: "4.3-IV0", 31: "4.4-IV0", 32: "4.4-IV1"},
    **{33: "4.4-IV2", 34: "4.5-IV0"},
}
"""Level -> release name. Kafka 4.4 can finalize levels up to 4.4-IV2; it knows 4.5-IV0 as
unstable."""


NEWEST_LEVELS = {
    **{"3.7": 19, "3.8": 20, "3.9": 21, "4.0": 25},
    **{"4.1": 27, "4.2": 29, "4.3": 30, "4.4": 33},
}
"""Release -> the newest metadata.version that it can finalize (Kafka:
MetadataVersion.LATEST_PRODUCTION)."""


METADATA_CHANGES = {
    7: "brokers in controlled shutdown",
    8: "the migration from ZooKeeper",
    11: "SCRAM credentials",
    13: "transactions",
    14: "delegation tokens",
    15: "registrations of controllers",
    17: "log directories of replicas",
    23: "eligible leader replicas",
    30: "cordoned log directories",
    32: "ACLs for ranges of addresses",
    33: "unregistered controllers",
}
"""The levels of metadata.version, from 7 on, that changed the metadata (Kafka:
MetadataVersion.didMetadataChange), and the content that came with each. Kafka never goes back below
one of these levels, because this content could be lost."""


def level_text(feature: str, level: int) -> str:
    """A level of a feature as text: of metadata.version its name, of others the number."""
    return release_of(level) if feature == METADATA_VERSION else str(level)


def release_of(level: int) -> str:
    """The level's name; "level N" for a level that is not in RELEASES."""
    return RELEASES.get(level) or f"level {level}"
