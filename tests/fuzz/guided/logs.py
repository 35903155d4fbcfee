"""Targets: segments, snapshots, batches that a peer sends, and a whole log directory."""

from __future__ import annotations

import os
import random
import struct
import tempfile
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

from replica.consumer.fetched_records import take
from replica.consumer.values import FetchPosition
from replica.errors import DataError
from replica.format.batch import CRC_START, HEADER, LENGTH_PREFIX, MAGIC, computed_crc
from replica.format.compression import (
    ALWAYS_INFLATED_BYTES,
    CODEC_NAMES,
    MAX_RATIO,
    compress,
    decompress,
)
from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.format.segment import scan
from replica.format.snapshot_content import inspect
from replica.model.epochs import OffsetAndEpoch
from replica.scan import regions
from replica.simulate.disk import SimulatedDisk
from replica.storage.batches import batches_of, bytes_of
from replica.storage.recovery import open_log
from replica.storage.snapshots import check_snapshot
from tests.fuzz.guided.target import DATA, Target, recorded, refused, require
from tests.replica.scan.agreement import REDACTOR, hold_equal
from tests.replica.scan.agreement_on_meaning import hold_meaning_equal
from tests.replica.scan.damaging import Pool, damaged

_WINDOWS = (1, 61, 300, 5000)
_FOLDER = "log/__cluster_metadata-0"
_SEGMENT = "00000000000000000000.log"
_SNAPSHOT_ID = OffsetAndEpoch(7, 1)
_MENDS, _IS_FILE, _REDACTS, _ANY_OFFSET = 1, 2, 4, 8
"""Bits of an input's first byte."""


def mended(data: bytes) -> bytes:
    """The data with the CRC of each whole batch corrected, so that a mutation passes the check of
    the CRC."""
    found = bytearray(data)
    at = 0
    while at + HEADER.size <= len(found):
        (length,) = struct.unpack_from(">i", found, at + 8)
        end = at + LENGTH_PREFIX.size + length
        if found[at + 16] != MAGIC or not at + HEADER.size <= end <= len(found):
            break
        struct.pack_into(">I", found, at + CRC_START - 4, computed_crc(bytes(found[at:end])))
        at = end
    return bytes(found)


def _input(data: bytes) -> tuple[int, bytes]:
    """(the bits of the first byte, the rest). The CRCs of the rest are corrected where the bits ask
    for it."""
    bits = data[0] if data else 0
    return bits, mended(data[1:]) if bits & _MENDS else data[1:]


@cache
def _path() -> Path:
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
    return Path(tempfile.mkdtemp(prefix="kraftlake-fuzz-", dir=shared)) / "segment"


def _segment(data: bytes) -> None:
    bits, segment = _input(data)
    regions.WINDOW_BYTES = _WINDOWS[bits >> 4 & 3]
    expected = None if bits & _ANY_OFFSET else 0
    redactor = REDACTOR if bits & _REDACTS else None
    if bits & _IS_FILE:
        _path().write_bytes(segment)
        with open_file(str(_path()), MAX_LOG_BYTES) as file:
            hold_equal(segment, expected=expected, redactor=redactor, buffer=file)
    else:
        hold_equal(segment, expected=expected, redactor=redactor)
        hold_meaning_equal(segment, expected=expected, redactor=redactor)


def _segments() -> Iterable[bytes]:
    """Recorded and generated batches, sound and damaged, some of them compressed."""
    chance = random.Random(26)
    pool = Pool(DATA, chance)
    for number in range(120):
        segment, _ = pool.segment(chance)
        yield bytes([chance.randrange(64)]) + (damaged(segment, chance) if number % 3 else segment)


def heads(pattern: str, most: int) -> list[bytes]:
    """The first batches of recorded files, all different, of `most` bytes together."""
    found = {path.read_bytes()[:most] for path in sorted(DATA.rglob(pattern))}
    return sorted({head[: scan(head).end_position] for head in found} - {b""})


def _sound_segments() -> Iterable[bytes]:
    for data in heads("*.log", 3000)[:20]:
        yield bytes([_MENDS]) + data


def _fetched(data: bytes) -> None:
    """Reads the input as a follower, and as a consumer."""
    bits, records = _input(data)
    epoch = -1 if bits & _ANY_OFFSET else 1
    try:
        batches = batches_of(records, None if bits & _IS_FILE else 0, epoch)
    except DataError as error:
        refused(error, len(records))
    else:
        found = b"".join(map(bytes_of, batches))
        require(records.startswith(found), "a batch has other bytes than were sent")
        offsets = [batch.base_offset for batch in batches]
        require(offsets == sorted(set(offsets)), f"offsets go back: {offsets}")
    try:
        read = take(records, FetchPosition(0, 0), ())
    except DataError as error:
        refused(error, len(records))
        return
    offsets = [each.offset for each in read.records]
    require(offsets == sorted(set(offsets)), f"offsets go back: {offsets}")
    require(not offsets or offsets[-1] < read.position.offset, "read again after that")


def _snapshot(data: bytes) -> None:
    """Reads a snapshot. If the engine accepts it, the doctor must find no fault in it."""
    _, content = _input(data)
    disk = SimulatedDisk(Random(1))
    disk.make_directory("s")
    disk.put("s/snapshot", content)
    epoch = struct.unpack_from(">i", content, 12)[0] if len(content) >= 16 else 0
    with disk.open("s/snapshot") as file:
        try:
            check_snapshot(file, OffsetAndEpoch(_SNAPSHOT_ID.offset, epoch))
        except DataError as error:
            refused(error, len(content))
            require(error.path == "s/snapshot", f"an error without its file: {error}")
            inspect(content, scan(content, expected_offset=0))
            return
    found = scan(content, expected_offset=0)
    require(not found.damages, f"damages of a snapshot that the engine takes: {found.damages}")
    seen = inspect(content, found)
    require(seen.has_header and seen.has_footer, f"the engine takes a snapshot with {seen}")


def _snapshots() -> Iterable[bytes]:
    for data in recorded("*.checkpoint", 12, 6000):
        yield bytes([_MENDS]) + data


def _directory(data: bytes) -> None:
    """Opens a log twice. If it opens, the second opening must find the same log, and have nothing
    to repair.

    After the first byte of the input come the sizes of leader-epoch-checkpoint and of a snapshot
    (int16 each), these two files, and the segment.
    """
    if len(data) < 5:
        return
    of_epochs, of_snapshot = struct.unpack_from(">HH", data, 1)
    rest = data[5:]
    checkpoint, rest = rest[:of_epochs], rest[of_epochs:]
    snapshot, segment = rest[:of_snapshot], rest[of_snapshot:]
    if data[0] & _MENDS:
        snapshot, segment = mended(snapshot), mended(segment)
    disk = SimulatedDisk(Random(1))
    disk.make_directory("log")
    disk.make_directory(_FOLDER)
    for name, content in (
        ("leader-epoch-checkpoint", checkpoint),
        (f"{_SNAPSHOT_ID.offset:020d}-{_SNAPSHOT_ID.epoch:010d}.checkpoint", snapshot),
        (_SEGMENT, segment),
    ):
        if content:
            disk.put(f"{_FOLDER}/{name}", content)
    try:
        log = open_log(disk, _FOLDER)
    except DataError as error:
        refused(error)
        require(error.path is not None, f"an error without its file: {error}")
        return
    facts, held = log.facts(), bytes(log.read(log.log_start, 1 << 20))
    require(log.log_start <= log.log_end, f"log {log.log_start} to {log.log_end}")
    require(not scan(held, expected_offset=None).damages, "a log that opens is damaged")
    log.close()
    again = open_log(disk, _FOLDER)
    require(again.facts() == facts, f"{facts} is opened again as {again.facts()}")
    require(bytes(again.read(again.log_start, 1 << 20)) == held, "other bytes the second time")
    require(not again.repairs, f"repaired twice: {again.repairs}")
    again.close()


def _directories() -> Iterable[bytes]:
    """The first batches of recorded logs, alone and with a snapshot after them."""
    for epochs in sorted(DATA.rglob("leader-epoch-checkpoint")):
        logs, snapshots = (sorted(epochs.parent.glob(f"*.{end}")) for end in ("log", "checkpoint"))
        if not logs:
            continue
        head = logs[0].read_bytes()[:6_000]
        segment = head[: scan(head).end_position]
        for snapshot in (b"", *(path.read_bytes() for path in snapshots[:1])):
            if len(snapshot) < 8000:
                parts = (epochs.read_bytes(), snapshot)
                sizes = struct.pack(">HH", *map(len, parts))
                yield bytes([_MENDS]) + sizes + b"".join(parts) + segment


def _compressed(data: bytes) -> None:
    """Decompresses the input. Its first byte chooses the codec; the rest is the compressed data."""
    if not data:
        return
    codec, content = data[0] % 6, data[1:]
    try:
        found = decompress(codec, content)
    except DataError as error:
        refused(error)
        return
    most = max(ALWAYS_INFLATED_BYTES, MAX_RATIO * len(content))
    require(len(found) <= most, f"{len(content)} bytes inflate to {len(found)}")
    if codec in CODEC_NAMES:
        require(decompress(codec, compress(codec, found)) == found, "other bytes")


def _compressions() -> Iterable[bytes]:
    texts = (b"", b"records " * 20, bytes(range(256)) * 3, bytes(100_000))
    for codec in CODEC_NAMES:
        for text in texts:
            yield bytes([codec]) + compress(codec, text)


TARGETS = (
    Target(
        "segments",
        "segments as bytes and as files, with compressed batches",
        "the bulk reader says of records, damages, lines and states what the scalar one says",
        _segments,
        _segment,
        max_bytes=6000,
    ),
    Target(
        "fetched-batches",
        "the records of a Fetch response, as a follower and as a consumer read them",
        "batches with the bytes that were sent, offsets that rise, or the byte",
        lambda: (*_sound_segments(), *islice(_segments(), 60)),
        _fetched,
        max_bytes=6000,
    ),
    Target(
        "snapshots",
        "snapshots, also fetched ones",
        "where the engine takes one, the doctor finds no fault; else file and byte",
        _snapshots,
        _snapshot,
        max_bytes=8000,
    ),
    Target(
        "log-directories",
        "a segment, leader-epoch-checkpoint and a snapshot, opened as a replica opens them",
        "a log without damage, the same after the next opening; or file, byte and advice",
        _directories,
        _directory,
        max_bytes=24_000,
    ),
    Target(
        "compressed-batches",
        "gzip, snappy, lz4, zstd",
        "the bytes of the batch within the limits, which come back; or an error",
        _compressions,
        _compressed,
    ),
)
