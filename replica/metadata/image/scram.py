"""SCRAM credentials by (user, mechanism) (KIP-900; Kafka: ScramDelta)."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.state import Fields, Handler, Refused, State

_CREDENTIAL = "USER_SCRAM_CREDENTIAL_RECORD"


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    state.scram.put((fields["name"], fields["mechanism"]), fields, offset)
    return None


def _remove(state: State, offset: int, fields: Fields) -> Refused | None:
    """Removes the credential. A credential that is absent is no error."""
    state.scram.drop((fields["name"], fields["mechanism"]))
    return None


HANDLERS: dict[str, Handler] = {
    _CREDENTIAL: _set,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": _remove,
}
KINDS = (EntityKind("scram", "scram", _CREDENTIAL, key_text=compact),)
