"""Client quotas (KIP-546; Kafka: ClientQuotasDelta).

The entity is a map: a record may hold its parts in any order, and if it names a type twice the last
one counts. The entity name null is the default entity, which the empty name isn't. A value is held
as Java's text of the double, so that, as in Kafka, -0.0 differs from 0.0 and NaN equals itself.
"""

from __future__ import annotations

from replica.message.json_text import double_text
from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.state import Fields, Handler, QuotaKey, Refused, State


def quota_key(fields: Fields) -> QuotaKey:
    """The key of a CLIENT_QUOTA_RECORD's quota."""
    entity = {part["entityType"]: part["entityName"] for part in fields["entity"]}
    return tuple((kind, entity[kind]) for kind in sorted(entity)), fields["key"]


def key_text(key: QuotaKey) -> str:
    """[{entityType: name}, quota key] as JSON."""
    return compact([dict(key[0]), key[1]])


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    key = quota_key(fields)
    if fields["remove"]:
        state.client_quotas.drop(key)
    else:
        state.client_quotas.put(key, double_text(fields["value"]), offset)
    return None


def _fields(key: QuotaKey, value: str) -> dict[str, object]:
    entity = tuple({"entityType": kind, "entityName": name} for kind, name in key[0])
    return {"entity": entity, "key": key[1], "value": float(value), "remove": False}


HANDLERS: dict[str, Handler] = {"CLIENT_QUOTA_RECORD": _set}
KINDS = (
    EntityKind("client_quota", "client_quotas", "CLIENT_QUOTA_RECORD", _fields, key_text, key_text),
)
