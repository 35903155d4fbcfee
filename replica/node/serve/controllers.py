"""UnregisterController: the only request to Kafka's controller that a replica can answer from the
metadata log alone (Kafka: ClusterControlManager.unregisterController).

The registrations are in the log. Controllers of Kafka have written them, before this replica led or
as nodes of the same quorum.
"""

from __future__ import annotations

from replica.machines.metadata import MetadataMachine
from replica.metadata.changes.releases import release_of
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.node.driver import LeadershipLostError
from replica.node.serve.partition import ServedPartition
from replica.node.translate.partition import RefusedRequestError
from replica.raft.inputs import Append
from replica.raft.leader.accumulator import BufferAllocationError
from replica.raft.leader.leading import NotLeaderError
from replica.raft.roles import Leader
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

UNREGISTRATION_LEVEL = 33
"""The first level of metadata.version that has UNREGISTER_CONTROLLER_RECORD: 4.4-IV2."""


async def unregister(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    """Append an UNREGISTER_CONTROLLER_RECORD, and answer when the record is committed.

    Requests run one after another, so that each request sees the result of the previous request:
    Kafka's controllers stop with an error when they replay this record for a controller that isn't
    registered.
    """
    async with partition.unregistering:
        try:
            await _unregister(partition, request.message["controllerId"])
        except RefusedRequestError as refused:
            return {"errorCode": int(refused.error), "errorMessage": refused.why}
    return {"errorCode": int(ErrorCode.NONE), "errorMessage": None}


async def _unregister(partition: ServedPartition, controller_id: int) -> None:
    machine, epoch = _leading(partition), partition.epoch
    if controller_id == partition.leader_id:
        why = f"node {controller_id} leads: no controller unregisters itself"
        raise RefusedRequestError(ErrorCode.INVALID_REQUEST, why)
    _check(machine, controller_id)
    record = new_record("UNREGISTER_CONTROLLER_RECORD", 0, {"controllerId": controller_id})
    try:
        await partition.driver.append(Append(epoch, (encode(record),)))
    except LeadershipLostError as error:
        why = f"{error}: it may still be unregistered"
        raise RefusedRequestError(ErrorCode.NOT_CONTROLLER, why) from error
    except NotLeaderError as error:
        raise RefusedRequestError(ErrorCode.NOT_CONTROLLER, str(error)) from error
    except BufferAllocationError as error:
        raise RefusedRequestError(ErrorCode.REQUEST_TIMED_OUT, str(error)) from error


def _leading(partition: ServedPartition) -> MetadataMachine:
    """The state machine of a leader that has committed a record of its own epoch: only then the
    machine has seen every registration. Raises RefusedRequestError on any other replica, and while
    the state machine still replays the log or has an open transaction."""
    raft, machine = partition.raft, partition.driver.host.machine
    if not partition.topic.is_metadata:
        why = f"{partition.topic.name}-0 is no metadata log: it has no controllers"
        raise RefusedRequestError(ErrorCode.INVALID_REQUEST, why)
    if not isinstance(raft.role, Leader) or not isinstance(machine, MetadataMachine):
        leader = raft.role.leader_id
        known = "nobody leads" if leader == NO_NODE else f"node {leader} leads"
        raise RefusedRequestError(ErrorCode.NOT_CONTROLLER, f"{known}, as far as is known here")
    if raft.high_watermark is None:
        why = f"nothing is committed in epoch {raft.role.epoch} yet"
        raise RefusedRequestError(ErrorCode.NOT_CONTROLLER, why)
    if partition.driver.host.is_behind:
        why = "this replica still replays its log: ask again"
        raise RefusedRequestError(ErrorCode.REQUEST_TIMED_OUT, why)
    if not machine.can_snapshot:
        why = "a transaction of the metadata log is open: ask again"
        raise RefusedRequestError(ErrorCode.REQUEST_TIMED_OUT, why)
    return machine


def _check(machine: MetadataMachine, controller_id: int) -> None:
    """Raises RefusedRequestError if metadata.version is too low or the controller isn't registered.
    Kafka checks in the same order."""
    level = machine.metadata_version
    if level is None or level < UNREGISTRATION_LEVEL:
        found = "is not set" if level is None else f"is {release_of(level)}"
        why = f"metadata.version {found}, and this needs {release_of(UNREGISTRATION_LEVEL)}"
        raise RefusedRequestError(ErrorCode.UNSUPPORTED_VERSION, why)
    if not machine.is_controller(controller_id):
        why = f"controller {controller_id} is not registered"
        raise RefusedRequestError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, why)
