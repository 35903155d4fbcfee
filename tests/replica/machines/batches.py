"""Batches as a log gives them to a machine, and a snapshot of a machine as batches."""

from replica.format.control import SnapshotFooter, SnapshotHeader
from replica.format.frames import frames
from replica.format.whole_batch import control_batch, value_batch
from replica.model.batch import Batch
from replica.model.control import LeaderChange
from replica.storage.batches import batch_in, message_of


def decoded(data):
    """One batch from its bytes."""
    (frame,) = frames(data, start=0, expected_offset=None)
    return batch_in(data, frame)


def values(base_offset, *content, epoch=1):
    return decoded(value_batch(base_offset, epoch, 0, content))


def leader_change(base_offset, epoch=1) -> Batch:
    message = message_of(LeaderChange(1, (), ()))
    return decoded(control_batch(base_offset, epoch, 0, [message]))


def snapshot(records, *facts):
    head = [SnapshotHeader(0, 0), *(message_of(fact) for fact in facts)]
    parts = [control_batch(0, 1, 0, head)]
    if records:
        parts.append(value_batch(len(head), 1, 0, records))
    parts.append(control_batch(len(head) + len(records), 1, 0, [SnapshotFooter(0)]))
    return [decoded(part) for part in parts]
