"""Dynamic configs (Kafka: ConfigurationsDelta).

A null value removes the config; the empty text is a value. A topic or broker may have configs
before it exists, and an unregistered broker keeps its configs.
"""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.state import TOPIC_RESOURCE, Fields, Handler, Refused, State


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    resource_type, resource, name = fields["resourceType"], fields["resourceName"], fields["name"]
    key = resource_type, resource, name
    if fields["value"] is None:
        state.configs.drop(key)
        if resource_type == TOPIC_RESOURCE:
            state.topic_configs.get(resource, set()).discard(name)
        return None
    state.configs.put(key, fields["value"], offset)
    if resource_type == TOPIC_RESOURCE:
        state.topic_configs.setdefault(resource, set()).add(name)
    return None


def _fields(key: tuple[int, str, str], value: str) -> dict[str, object]:
    return {"resourceType": key[0], "resourceName": key[1], "name": key[2], "value": value}


HANDLERS: dict[str, Handler] = {"CONFIG_RECORD": _set}
KINDS = (EntityKind("config", "configs", "CONFIG_RECORD", _fields, compact),)
