"""Targets: the small files of a node's directory, and names of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from replica.errors import DataError
from replica.format import (
    capture,
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
)
from replica.format.file_names import classify
from replica.format.snapshot import format_name, parse_name
from replica.format.text_file import text_of
from tests.fuzz.guided.target import Target, recorded, refused, require

_INDEX_BYTES = 12


def _decoded(decode: Callable[[bytes], Any], encode: Callable[[Any], bytes], data: bytes) -> None:
    """Decodes the input. A decoded value is encoded, and decodes to the same value again."""
    try:
        value = decode(data)
    except DataError as error:
        refused(error, len(data))
        return
    again = decode(encode(value))
    require(again == value, f"{value!r} is read back as {again!r}")


def _quorum_properties(data: bytes) -> None:
    try:
        voters = quorum_properties.decode(data)
    except DataError as error:
        refused(error, len(data))
        return
    require(list(voters) == sorted(set(voters)), f"voters twice or in no order: {voters}")


def _names(data: bytes) -> None:
    name = data.decode("latin-1")
    found = classify(name)
    require(found.base_offset is None or 0 <= found.base_offset < 2**63, repr(found))
    snapshot = parse_name(name)
    if snapshot is not None:
        again = parse_name(format_name(snapshot))
        require(again == snapshot, f"{name!r}: {snapshot} is named {format_name(snapshot)}")


def _capture(data: bytes) -> None:
    try:
        info = capture.decode(data)
    except DataError as error:
        refused(error, len(data))
        return
    again = capture.decode(capture.encode(info))
    require(again.files == info.files, "other files")
    require(abs((again.captured_at - info.captured_at).total_seconds()) < 0.001, "another time")


def _time(data: bytes) -> None:
    try:
        moment = capture.capture_time(text_of(data))
    except DataError as error:
        refused(error)
        return
    require(moment.utcoffset() is not None, f"{moment} has no zone")


def _whole(
    name: str, module: Any, pattern: str, words: tuple[str, ...] = (), reads: str | None = None
) -> Target:
    return Target(
        name,
        reads or pattern,
        "a value, which comes back from what is written of it, or the byte",
        partial(recorded, pattern),
        partial(_decoded, module.decode, module.encode),
        words=words,
    )


def _index(name: str, decode: Any, encode: Any) -> Target:
    return Target(
        name,
        f"*.{name}",
        "a value, which comes back from what is written of it, or the byte",
        partial(recorded, f"*.{name}"),
        partial(_decoded, decode, encode),
        max_bytes=40 * _INDEX_BYTES,
    )


def _capture_seeds() -> Iterable[bytes]:
    yield b'{"version": 1, "captured_at": "2026-11-25T06:00:00.000Z"}'
    file = b'{"path": "a/b.log", "size_bytes": 7, "content_hash": "%s"}' % (b"0" * 64)
    yield b'{"version": 1, "captured_at": "2026-11-25T06:00:00Z", "files": [%s]}' % file


TARGETS = (
    _whole(
        "quorum-state",
        quorum_state,
        "quorum-state",
        (
            '"clusterId"',
            '"leaderId"',
            '"leaderEpoch"',
            '"votedId"',
            '"votedDirectoryId"',
            '"currentVoters"',
            '"voterId"',
            '"data_version"',
            '"appliedOffset"',
            "null",
            "1e9",
        ),
    ),
    _whole(
        "meta-properties",
        meta_properties,
        "meta.properties",
        ("node.id=", "cluster.id=", "directory.id=", "version=", "broker.id=", "\\u0000"),
    ),
    _whole("partition-metadata", partition_metadata, "partition.metadata", ("topic_id: ",)),
    _whole("leader-epoch-checkpoint", leader_epoch_checkpoint, "leader-epoch-checkpoint"),
    _whole("producer-snapshot", producer_snapshot, "*.snapshot", reads="producer snapshots"),
    _index("index", index.decode_offset_index, index.encode_offset_index),
    _index("timeindex", index.decode_time_index, index.encode_time_index),
    Target(
        "quorum-properties",
        "controller.quorum.voters of a captured configuration",
        "sorted voters, each once, or the byte",
        lambda: [b"controller.quorum.voters=1@a:9093,2@[::1]:9093\n", b"a=b\\\n c\n"],
        _quorum_properties,
        words=("controller.quorum.voters=", "\\u0031", "@"),
    ),
    Target(
        "file-names",
        "names of files in a log directory",
        "a kind of file; snapshot names come back",
        lambda: [
            b"00000000000000000000.log",
            b"00000000000000000007-0000000001.checkpoint",
            b"00000000000000000007-0000000001.checkpoint.part",
            b"00000000000000000000.timeindex.deleted",
            b"leader-epoch-checkpoint",
        ],
        _names,
        max_bytes=120,
        words=(".checkpoint", ".part", ".deleted", ".log", ".cleaned", ".swap"),
    ),
    Target(
        "capture-json",
        "capture.json of captures, also in object stores",
        "time and files, which come back, or the byte; no path leaves its folder",
        _capture_seeds,
        _capture,
        words=('"version"', '"captured_at"', '"files"', '"path"', '"size_bytes"', '"../a"'),
    ),
    Target(
        "times",
        "times of captures and options",
        "a time with its zone, or an error",
        lambda: [b"2026-11-25T06:00:00Z", b"1700000000000", b"2026-11-25", b"2026-W48-3T01+01:00"],
        _time,
        max_bytes=64,
    ),
)
