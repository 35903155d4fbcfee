"""The decoders of all files of a directory but segments and snapshots, by kind of file."""

from __future__ import annotations

from collections.abc import Callable

from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
)
from replica.format.file_names import LOG_KINDS, FileKind, FileName
from replica.format.reading import MAX_LOG_BYTES, MAX_STATE_BYTES

INDEX_DECODERS: dict[FileKind, Callable[[bytes], index.OffsetIndex | index.TimeIndex]] = {
    FileKind.OFFSET_INDEX: index.decode_offset_index,
    FileKind.TIME_INDEX: index.decode_time_index,
}
STATE_DECODERS: dict[FileKind, Callable[[bytes], object]] = {
    FileKind.META_PROPERTIES: meta_properties.decode,
    FileKind.QUORUM_STATE: quorum_state.decode,
    FileKind.LEADER_EPOCH_CHECKPOINT: leader_epoch_checkpoint.decode,
    FileKind.PARTITION_METADATA: partition_metadata.decode,
    FileKind.PRODUCER_SNAPSHOT: producer_snapshot.decode,
    FileKind.QUORUM_PROPERTIES: quorum_properties.decode,
}


def size_limit(name: FileName) -> int:
    """The largest size (bytes) with which a file of this kind is read."""
    return MAX_LOG_BYTES if name.kind in LOG_KINDS else MAX_STATE_BYTES
