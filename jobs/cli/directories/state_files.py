"""The small files of a log directory as plain values, for `dump`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
)
from replica.format.file_names import FileKind

READERS: dict[FileKind, Callable[[bytes], Any]] = {
    FileKind.QUORUM_STATE: lambda data: dict(quorum_state.decode(data).fields),
    FileKind.LEADER_EPOCH_CHECKPOINT: lambda data: _rows(leader_epoch_checkpoint.decode(data)),
    FileKind.META_PROPERTIES: lambda data: dict(meta_properties.decode(data).properties),
    FileKind.PARTITION_METADATA: lambda data: {"topic_id": partition_metadata.decode(data)},
    FileKind.OFFSET_INDEX: lambda data: asdict(index.decode_offset_index(data)),
    FileKind.TIME_INDEX: lambda data: asdict(index.decode_time_index(data)),
    FileKind.PRODUCER_SNAPSHOT: lambda data: _rows(producer_snapshot.decode(data)),
    FileKind.QUORUM_PROPERTIES: lambda data: {
        "controller.quorum.voters": _rows(quorum_properties.decode(data))
    },
}
"""For each kind of file, the function that gives such a file's content as JSON values, with Kafka's
names where the file has any. The functions raise DataError, which names the byte."""


def _rows(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [asdict(one) for one in values]
