"""Converts batches between bytes (replica.format) and values of the consensus core.

The core knows no bytes. So this module also converts between the core's control records and Kafka's
control messages.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from replica.errors import CorruptDataError, DataError
from replica.format import control
from replica.format.batch import LENGTH_PREFIX
from replica.format.frames import Frame, frames
from replica.format.whole_batch import control_batch, messages_in, value_batch
from replica.message.primitives import Buffer
from replica.model.batch import Batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters, LeaderChange
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import voter_set

_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")
_REMEMBERED_BYTES = 4096
"""The most bytes of a control batch that is cached. A batch with the voters of seven nodes takes a
tenth of these bytes."""
_MESSAGE_VERSION = 0
"""The version in which Kafka 4.1 writes every control message, including LEADER_CHANGE."""


def batches_of(
    data: Buffer, expected_offset: int | None = None, epoch: int = -1, *, check_crc: bool = True
) -> tuple[Batch, ...]:
    """The batches in the bytes of a log or of a fetch response. An incomplete batch at the end is
    left out.

    expected_offset: the base offset of the first batch; None for any.
    epoch: the lowest epoch that a batch may have.
    check_crc: False for bytes whose CRC was checked when they were read.

    Raises DataError, which names the byte in `data`, for bytes that a correct peer doesn't send.
    """
    return tuple(
        batch_in(data, frame)
        for frame in frames(
            data, start=0, expected_offset=expected_offset, epoch=epoch, check_crc=check_crc
        )
    )


def batch_in(data: Buffer, frame: Frame, start: int = 0) -> Batch:
    """The batch of a frame. start: the position in the file at which `data` begins. Raises
    DataError for a control record that can't be decoded."""
    at = frame.position - start
    whole = bytes(memoryview(data)[at : at + frame.size])
    records: tuple[ControlRecord, ...] = ()
    if frame.is_control:
        try:
            records = control_records(whole)
        except DataError as error:
            raise error.shifted(frame.position) from error
    return Batch(
        frame.base_offset, frame.last_offset, frame.epoch, frame.max_timestamp, records, whole
    )


def bytes_of(batch: Batch) -> bytes:
    """The bytes of the batch for the disk. Records without bytes are encoded. The base offset and
    the epoch are written into the header.

    The CRC covers neither the base offset nor the epoch, so all other bytes of a fetched batch stay
    as they are.
    """
    if not batch.data:
        if batch.values:
            return value_batch(batch.base_offset, batch.epoch, batch.timestamp, batch.values)
        assert batch.control, "a batch needs data, values or control records"
        messages = [message_of(record) for record in batch.control]
        return control_batch(batch.base_offset, batch.epoch, batch.timestamp, messages)
    data = batch.data
    (base_offset,) = _BASE_OFFSET.unpack_from(data, 0)
    (epoch,) = _LEADER_EPOCH.unpack_from(data, LENGTH_PREFIX.size)
    if (base_offset, epoch) == (batch.base_offset, batch.epoch):
        return data
    stamped = bytearray(data)
    _BASE_OFFSET.pack_into(stamped, 0, batch.base_offset)
    _LEADER_EPOCH.pack_into(stamped, LENGTH_PREFIX.size, batch.epoch)
    return bytes(stamped)


def control_records(batch: bytes) -> tuple[ControlRecord, ...]:
    """The records of a control batch that concern Raft, in order.

    A control batch is decoded when it arrives, when it is appended, and each time it is committed
    or searched for. So the records of small batches are cached. Large batches aren't cached, so
    that no peer can fill the memory with them.
    """
    return _remembered(batch) if len(batch) <= _REMEMBERED_BYTES else _decoded(batch)


def _decoded(batch: bytes) -> tuple[ControlRecord, ...]:
    found = (record_of(message) for message in messages_in(batch))
    return tuple(record for record in found if record is not None)


_remembered = lru_cache(maxsize=256)(_decoded)


def record_of(message: control.ControlMessage) -> ControlRecord | None:
    """The core's value for a control message. None for the headers and footers of snapshots, and
    for unknown types.

    Raises CorruptDataError for two voters with the same node id.
    """
    match message:
        case control.LeaderChange():
            return LeaderChange(
                message.leader_id,
                tuple(_key(voter) for voter in message.voters),
                tuple(_key(voter) for voter in message.granting_voters),
            )
        case control.KRaftVersion():
            return KRaftVersion(message.kraft_version)
        case control.KRaftVoters():
            if len({voter.key.node_id for voter in message.voters}) < len(message.voters):
                raise CorruptDataError("a voters record names a node twice", 0)
            return KRaftVoters(voter_set(message.voters))
        case _:
            return None


def message_of(record: ControlRecord) -> control.ControlMessage:
    """The control message that Kafka 4.1 writes for a record of the core.

    LEADER_CHANGE loses the directory ids, because its version 0 has none.
    """
    match record:
        case LeaderChange():
            return control.LeaderChange(
                _MESSAGE_VERSION,
                record.leader_id,
                tuple(control.LeaderVoter(key.node_id) for key in record.voters),
                tuple(control.LeaderVoter(key.node_id) for key in record.granting_voters),
            )
        case KRaftVersion():
            return control.KRaftVersion(_MESSAGE_VERSION, record.kraft_version)
        case KRaftVoters():
            return control.KRaftVoters(_MESSAGE_VERSION, record.voters.voters)


def _key(voter: control.LeaderVoter) -> ReplicaKey:
    return ReplicaKey(voter.voter_id, voter.directory_id or ZERO_UUID)
