"""Delegation tokens by id (KIP-900; Kafka: DelegationTokenDelta)."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State

_TOKEN = "DELEGATION_TOKEN_RECORD"  # noqa: S105, a record type


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    """Sets a token. All its principals must be TYPE:NAME (SecurityUtils.parseKafkaPrincipal)."""
    for principal in (fields["owner"], fields["requester"], *fields["renewers"]):
        if ":" not in principal:
            return f"{principal!r} is no principal, which would be TYPE:NAME", ()
    token = {**fields, "renewers": tuple(sorted(fields["renewers"]))}
    state.delegation_tokens.put(fields["tokenId"], token, offset)
    return None


def _remove(state: State, offset: int, fields: Fields) -> Refused | None:
    """Removes the token. A token that is absent is no error."""
    state.delegation_tokens.drop(fields["tokenId"])
    return None


HANDLERS: dict[str, Handler] = {_TOKEN: _set, "REMOVE_DELEGATION_TOKEN_RECORD": _remove}
KINDS = (EntityKind("delegation_token", "delegation_tokens", _TOKEN),)
