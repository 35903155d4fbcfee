"""The small files of a log directory as plain values, for `dump`."""

from __future__ import annotations

from collections.abc import Callable
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
from replica.format.file_names import INDEX_KINDS, FileKind

EMPTY_IS_LEGAL = INDEX_KINDS
"""An index of 0 bytes is legal: Kafka leaves such files behind."""


def plain_content(kind: FileKind, data: bytes) -> Any:
    """The file's content as JSON values, with Kafka's names where the file has any.

    kind: a key of READERS. Raises DataError, which names the byte.
    """
    return READERS[kind](data)


def _quorum_state(data: bytes) -> Any:
    return dict(quorum_state.decode(data).fields)


def _leader_epochs(data: bytes) -> Any:
    return [asdict(entry) for entry in leader_epoch_checkpoint.decode(data)]


def _meta_properties(data: bytes) -> Any:
    return dict(meta_properties.decode(data).properties)


def _partition_metadata(data: bytes) -> Any:
    return {"topic_id": partition_metadata.decode(data)}


def _offset_index(data: bytes) -> Any:
    return asdict(index.decode_offset_index(data))


def _time_index(data: bytes) -> Any:
    return asdict(index.decode_time_index(data))


def _producers(data: bytes) -> Any:
    return [asdict(entry) for entry in producer_snapshot.decode(data)]


def _configured_voters(data: bytes) -> Any:
    return {"controller.quorum.voters": [asdict(voter) for voter in quorum_properties.decode(data)]}


READERS: dict[FileKind, Callable[[bytes], Any]] = {
    FileKind.QUORUM_STATE: _quorum_state,
    FileKind.LEADER_EPOCH_CHECKPOINT: _leader_epochs,
    FileKind.META_PROPERTIES: _meta_properties,
    FileKind.PARTITION_METADATA: _partition_metadata,
    FileKind.OFFSET_INDEX: _offset_index,
    FileKind.TIME_INDEX: _time_index,
    FileKind.PRODUCER_SNAPSHOT: _producers,
    FileKind.QUORUM_PROPERTIES: _configured_voters,
}
