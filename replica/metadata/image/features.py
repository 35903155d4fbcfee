"""Finalized feature levels (KIP-584; Kafka: FeaturesDelta).

Level 0 removes a feature, except for metadata.version. kraft.version is no feature of the image:
the Raft layer keeps it in a control record.
"""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State
from replica.model.control import KRAFT_VERSION

METADATA_VERSION = "metadata.version"


def _set_level(state: State, offset: int, fields: Fields) -> Refused | None:
    name, level = fields["name"], fields["featureLevel"]
    if name == KRAFT_VERSION:
        return None
    if level == 0 and name != METADATA_VERSION:
        state.features.drop(name)
    else:
        state.features.put(name, level, offset)
    return None


def _fields(name: str, level: int) -> dict[str, object]:
    return {"name": name, "featureLevel": level}


HANDLERS: dict[str, Handler] = {"FEATURE_LEVEL_RECORD": _set_level}
KINDS = (EntityKind("feature", "features", "FEATURE_LEVEL_RECORD", _fields),)
