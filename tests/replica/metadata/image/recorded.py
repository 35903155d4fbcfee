"""The records of the logs and snapshots in the recorded directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from replica.format.record import records_of
from replica.format.segment import scan
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import Refusal, Replay, ReplayedRecord
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor


@dataclass(frozen=True)
class Logged:
    """A record with its place in the log."""

    offset: int
    epoch: int
    record: ReplayedRecord


def records_in(path: Path, redactor: Redactor | None = None) -> Iterator[Logged]:
    """The records of an undamaged segment or snapshot, in order."""
    data = path.read_bytes()
    reader = LogRecordReader(redactor)
    for batch in scan(data).batches:
        header = batch.header
        whole = data[batch.position : batch.position + header.size_bytes]
        for record in records_of(header, whole):
            message = reader.read(record, is_control=header.is_control).message
            assert message is not None, (path, record.offset)
            yield Logged(record.offset, header.leader_epoch, message)


def replayed(records: Iterable[Logged], image: Image = EMPTY) -> tuple[Replay, tuple[Refusal, ...]]:
    """The replay of these records over an image, and its refusals."""
    replay = Replay(image)
    refusals = (replay.apply(logged.offset, logged.record) for logged in records)
    return replay, tuple(refusal for refusal in refusals if refusal)
