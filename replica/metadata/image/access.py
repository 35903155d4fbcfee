"""The entities about access: ACLs, SCRAM credentials, delegation tokens, client quotas."""

from __future__ import annotations

from replica.message.json_text import double_text
from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.state import Fields, Handler, QuotaKey, Refused, State

_ACL = "ACCESS_CONTROL_ENTRY_RECORD"
_CREDENTIAL = "USER_SCRAM_CREDENTIAL_RECORD"
_TOKEN = "DELEGATION_TOKEN_RECORD"  # noqa: S105, a record type
_QUOTA = "CLIENT_QUOTA_RECORD"


def _add_acl(state: State, offset: int, fields: Fields) -> None:
    """Adds an access control entry (Kafka: AclsDelta). Its codes stay numbers, including unknown
    codes."""
    state.acls.put(fields["id"], fields, offset)


def _remove_acl(state: State, offset: int, fields: Fields) -> Refused | None:
    acl_id = fields["id"]
    if acl_id not in state.acls.values:
        return f"there is no ACL {acl_id}", state.removal("acls", acl_id)
    state.acls.drop(acl_id)
    state.removals["acls", acl_id] = offset
    return None


def _set_credential(state: State, offset: int, fields: Fields) -> None:
    """Sets a SCRAM credential by (user, mechanism) (KIP-900; Kafka: ScramDelta)."""
    state.scram.put((fields["name"], fields["mechanism"]), fields, offset)


def _remove_credential(state: State, offset: int, fields: Fields) -> None:
    """Removes a SCRAM credential. A credential that is absent is no error."""
    state.scram.drop((fields["name"], fields["mechanism"]))


def _set_token(state: State, offset: int, fields: Fields) -> Refused | None:
    """Sets a delegation token by id (KIP-900; Kafka: DelegationTokenDelta). Returns a refusal if a
    principal of the token lacks the form TYPE:NAME (SecurityUtils.parseKafkaPrincipal), else
    None."""
    for principal in (fields["owner"], fields["requester"], *fields["renewers"]):
        if ":" not in principal:
            return f"{principal!r} is no principal, which would be TYPE:NAME", ()
    token = {**fields, "renewers": tuple(sorted(fields["renewers"]))}
    state.delegation_tokens.put(fields["tokenId"], token, offset)
    return None


def _remove_token(state: State, offset: int, fields: Fields) -> None:
    """Removes a delegation token. A token that is absent is no error."""
    state.delegation_tokens.drop(fields["tokenId"])


def _set_quota(state: State, offset: int, fields: Fields) -> None:
    """Sets or removes a client quota (KIP-546; Kafka: ClientQuotasDelta).

    The entity is a map: a record may hold its parts in any order, and if it names a type twice the
    last part counts. The entity name null is the default entity; the empty name is not. A value is
    kept as Java's text of the double, so that, as in Kafka, -0.0 differs from 0.0 and NaN equals
    itself.
    """
    entity = {part["entityType"]: part["entityName"] for part in fields["entity"]}
    key = tuple((kind, entity[kind]) for kind in sorted(entity)), fields["key"]
    if fields["remove"]:
        state.client_quotas.drop(key)
    else:
        state.client_quotas.put(key, double_text(fields["value"]), offset)


def _quota_fields(key: QuotaKey, value: str) -> dict[str, object]:
    entity = tuple({"entityType": kind, "entityName": name} for kind, name in key[0])
    return {"entity": entity, "key": key[1], "value": float(value), "remove": False}


def _quota_text(key: QuotaKey) -> str:
    """[{entityType: name}, quota key] as JSON."""
    return compact([dict(key[0]), key[1]])


HANDLERS: dict[str, Handler] = {
    _ACL: _add_acl,
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": _remove_acl,
    _CREDENTIAL: _set_credential,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": _remove_credential,
    _TOKEN: _set_token,
    "REMOVE_DELEGATION_TOKEN_RECORD": _remove_token,
    _QUOTA: _set_quota,
}
ACL = EntityKind("acl", "acls", _ACL)
SCRAM = EntityKind("scram", "scram", _CREDENTIAL, key_text=compact)
DELEGATION_TOKEN = EntityKind("delegation_token", "delegation_tokens", _TOKEN)
CLIENT_QUOTA = EntityKind(
    "client_quota", "client_quotas", _QUOTA, _quota_fields, _quota_text, _quota_text
)
