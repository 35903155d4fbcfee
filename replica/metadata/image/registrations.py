"""Registrations of brokers and controllers (Kafka: ClusterDelta, BrokerRegistration).

A change or a fencing of a broker is refused unless it has the broker epoch of the current
registration. An unregistration may have any epoch. Up to Kafka 4.3 no record removes a controller's
registration (KIP-919); from metadata.version 4.4-IV2 on, UNREGISTER_CONTROLLER_RECORD removes the
registration.
"""

from __future__ import annotations

from typing import Any

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State
from replica.metadata.records import RECORDS_BY_NAME

_BROKER, _CONTROLLER = "REGISTER_BROKER_RECORD", "REGISTER_CONTROLLER_RECORD"
_SECURITY_PROTOCOLS = range(4)
"""The ids of Kafka's security protocols: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."""
_FENCING = {-1: {"fenced": False}, 0: {}, 1: {"fenced": True}}
"""The change of the registration for each value of `fenced` in a BROKER_REGISTRATION_CHANGE_RECORD:
-1 unfences the broker, 0 changes nothing, 1 fences the broker."""
_SHUTDOWN = {0: {}, 1: {"inControlledShutdown": True}}
"""The change of the registration for each value of `inControlledShutdown` in a
BROKER_REGISTRATION_CHANGE_RECORD: 0 changes nothing, 1 begins a controlled shutdown. Only a new
registration ends the shutdown."""


def _register_broker(state: State, offset: int, fields: Fields) -> Refused | None:
    """Registers a broker. Returns a refusal if one of its listeners has no name, else None. A
    listener's security protocol may be any number."""
    if not all(listener["name"] for listener in fields["endPoints"]):
        return f"a listener of broker {fields['brokerId']} has no name", ()
    registration = _registration(_BROKER, fields)
    registration["logDirs"] = tuple(sorted(registration["logDirs"]))
    registration["cordonedLogDirs"] = _cordoned(registration["cordonedLogDirs"])
    broker_id = fields["brokerId"]
    state.brokers.put(broker_id, registration, offset)
    state.registrations[broker_id] = offset
    return None


def _registration(record_type: str, fields: Fields) -> dict[str, Any]:
    """The fields that the newest version of the record's type has, with listeners and features
    sorted by name. Fields that the record lacks have their defaults."""
    newest = RECORDS_BY_NAME[record_type].fields
    filled = {field.name: fields.get(field.name, field.default) for field in newest}
    return {**filled, **{name: by_name(fields[name]) for name in ("endPoints", "features")}}


def by_name(structures: tuple[Fields, ...]) -> tuple[Fields, ...]:
    """Structures sorted by their field `name`. If names are equal, the last structure is kept, as
    in Kafka's map."""
    named = {structure["name"]: structure for structure in structures}
    return tuple(named[name] for name in sorted(named))


def _cordoned(directories: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The cordoned log directories (KIP-1066), sorted; None if the broker has never sent its
    cordoned directories. As in Kafka, None doesn't mean an empty tuple."""
    return None if directories is None else tuple(sorted(directories))


def _unregister_broker(state: State, offset: int, fields: Fields) -> None:
    """Removes the registration of a broker. A broker that is not registered is no error."""
    broker_id = fields["brokerId"]
    if broker_id in state.brokers.values:
        state.brokers.drop(broker_id)
        state.removals["brokers", broker_id] = offset


def _fence(state: State, offset: int, fields: Fields) -> Refused | None:
    return _update(state, offset, fields["id"], fields["epoch"], {"fenced": True})


def _unfence(state: State, offset: int, fields: Fields) -> Refused | None:
    return _update(state, offset, fields["id"], fields["epoch"], {"fenced": False})


def _change(state: State, offset: int, fields: Fields) -> Refused | None:
    fencing = _FENCING.get(fields["fenced"])
    shutdown = _SHUTDOWN.get(fields.get("inControlledShutdown", 0))
    broker_id, epoch = fields["brokerId"], fields["brokerEpoch"]
    if fencing is None or shutdown is None:
        # as in Kafka, an unknown broker or epoch is refused first
        refused = _update(state, offset, broker_id, epoch, {})
        return refused or ("fenced or inControlledShutdown has a value that Kafka doesn't know", ())
    changes: dict[str, Any] = {**fencing, **shutdown}
    directories = fields.get("logDirs")
    if directories:
        changes["logDirs"] = tuple(sorted(directories))
    cordoned = fields.get("cordonedLogDirs")
    if cordoned is not None:  # unlike for logDirs, an empty list is a change
        changes["cordonedLogDirs"] = _cordoned(cordoned)
    return _update(state, offset, broker_id, epoch, changes)


def _update(
    state: State, offset: int, broker_id: int, epoch: int, changes: dict[str, Any]
) -> Refused | None:
    old = state.brokers.values.get(broker_id)
    if old is None:
        return f"broker {broker_id} is not registered", state.removal("brokers", broker_id)
    if old["brokerEpoch"] != epoch:
        registered = state.registrations.get(broker_id, state.brokers.offsets[broker_id])
        reason = f"broker {broker_id} is registered with epoch {old['brokerEpoch']}, not {epoch}"
        return reason, (registered,)
    new = {**old, **changes}
    if new != old:
        state.brokers.put(broker_id, new, offset)
    return None


def _register_controller(state: State, offset: int, fields: Fields) -> Refused | None:
    """Registers a controller. Returns a refusal if a listener of the controller has no known
    security protocol, else None. The listeners of brokers may have any number as their protocol."""
    for listener in fields["endPoints"]:
        if listener["securityProtocol"] not in _SECURITY_PROTOCOLS:
            return f"there is no security protocol {listener['securityProtocol']}", ()
    state.controllers.put(fields["controllerId"], _registration(_CONTROLLER, fields), offset)
    return None


def _unregister_controller(state: State, offset: int, fields: Fields) -> None:
    """Removes the registration of a controller. A controller that is not registered is no error."""
    state.controllers.drop(fields["controllerId"])


HANDLERS: dict[str, Handler] = {
    _BROKER: _register_broker,
    "UNREGISTER_BROKER_RECORD": _unregister_broker,
    "FENCE_BROKER_RECORD": _fence,
    "UNFENCE_BROKER_RECORD": _unfence,
    "BROKER_REGISTRATION_CHANGE_RECORD": _change,
    _CONTROLLER: _register_controller,
    "UNREGISTER_CONTROLLER_RECORD": _unregister_controller,
}
BROKER = EntityKind("broker", "brokers", _BROKER)
CONTROLLER = EntityKind("controller", "controllers", _CONTROLLER)
