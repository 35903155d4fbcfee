"""Names of snapshots (KIP-630; Kafka: org.apache.kafka.snapshot.Snapshots).

    00000000000000000519-0000000005.checkpoint             end offset (exclusive) and epoch
    00000000000000000519-0000000005-8123.checkpoint.part   being written
    00000000000000000519-0000000005.checkpoint.deleted     being deleted
    bootstrap.checkpoint                                   records for a first start, beside the log
    checkpoints/<20 digits>-<20 digits>.checkpoint         the form of KIP-630's draft

The content has the form of a segment (replica.format.segment), with offsets from 0 on. The first
batch holds a SNAPSHOT_HEADER, the last batch a SNAPSHOT_FOOTER.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from replica.model.epochs import OffsetAndEpoch

BOOTSTRAP_NAME = "bootstrap.checkpoint"
DRAFT_FOLDER = "checkpoints"

_NAME = re.compile(
    r"(?P<offset>[0-9]{20})-(?P<epoch>[0-9]{20}|[0-9]{10})(?P<unique>-?[0-9]+)?"
    r"\.checkpoint(?P<suffix>\.part|\.deleted)?"
)
_MAX_OFFSET = 2**63 - 1
_MAX_EPOCH = 2**31 - 1


class SnapshotState(StrEnum):
    """The state of a snapshot by its suffix; the values are those of bronze.snapshots.state."""

    COMPLETE = "complete"
    PART = "part"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class SnapshotName:
    """The parts of a snapshot file's name. `unique` differs among .part files of the same id."""

    id: OffsetAndEpoch
    state: SnapshotState = SnapshotState.COMPLETE
    unique: str = ""
    epoch_digits: int = 10


def parse_name(name: str) -> SnapshotName | None:
    """The parts of a snapshot's file name (without folder); None for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    suffix = match["suffix"]
    state = SnapshotState(suffix[1:]) if suffix else SnapshotState.COMPLETE
    offset, epoch = int(match["offset"]), int(match["epoch"])
    if offset > _MAX_OFFSET or epoch > _MAX_EPOCH:
        return None
    if match["unique"] and state is not SnapshotState.PART:
        return None
    snapshot_id = OffsetAndEpoch(offset, epoch)
    return SnapshotName(snapshot_id, state, match["unique"] or "", len(match["epoch"]))


def format_name(name: SnapshotName) -> str:
    """The file name of a snapshot, the inverse of parse_name."""
    suffix = "" if name.state is SnapshotState.COMPLETE else f".{name.state}"
    epoch = f"{name.id.epoch:0{name.epoch_digits}d}"
    return f"{name.id.offset:020d}-{epoch}{name.unique}.checkpoint{suffix}"
