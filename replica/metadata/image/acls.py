"""Access control entries (Kafka: AclsDelta). Their codes are kept as numbers, unknown ones too."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State

_ENTRY = "ACCESS_CONTROL_ENTRY_RECORD"


def _add(state: State, offset: int, fields: Fields) -> Refused | None:
    state.acls.put(fields["id"], fields, offset)
    return None


def _remove(state: State, offset: int, fields: Fields) -> Refused | None:
    acl_id = fields["id"]
    if acl_id not in state.acls.values:
        return f"there is no ACL {acl_id}", state.removal("acls", acl_id)
    state.acls.drop(acl_id)
    state.removals["acls", acl_id] = offset
    return None


HANDLERS: dict[str, Handler] = {_ENTRY: _add, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": _remove}
KINDS = (EntityKind("acl", "acls", _ENTRY),)
