"""Controller registrations (KIP-919; Kafka: ClusterDelta).

Up to Kafka 4.3 nothing removes a registration; from metadata.version 4.4-IV2 on the controller
writes UNREGISTER_CONTROLLER_RECORD for it.
"""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind, by_name, filled
from replica.metadata.image.state import Fields, Handler, Refused, State

_REGISTRATION = "REGISTER_CONTROLLER_RECORD"
_SECURITY_PROTOCOLS = range(4)
"""PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL (SecurityProtocol)."""


def _register(state: State, offset: int, fields: Fields) -> Refused | None:
    """Registers a controller. Unlike a broker's, its listeners must have a known security
    protocol."""
    for listener in fields["endPoints"]:
        if listener["securityProtocol"] not in _SECURITY_PROTOCOLS:
            return f"there is no security protocol {listener['securityProtocol']}", ()
    registration = filled(_REGISTRATION, fields)
    registration["endPoints"] = by_name(fields["endPoints"])
    registration["features"] = by_name(fields["features"])
    state.controllers.put(fields["controllerId"], registration, offset)
    return None


def _unregister(state: State, offset: int, fields: Fields) -> Refused | None:
    """Removes the registration. A controller that is not registered is no error."""
    state.controllers.drop(fields["controllerId"])
    return None


HANDLERS: dict[str, Handler] = {
    _REGISTRATION: _register,
    "UNREGISTER_CONTROLLER_RECORD": _unregister,
}
KINDS = (EntityKind("controller", "controllers", _REGISTRATION),)
