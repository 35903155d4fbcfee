"""Segments and snapshots without secrets: the same batches, and the same damage."""

from __future__ import annotations

import gzip
import io
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from replica.doctor.redacted.log_file import Moved, redact_log
from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.errors import DataError
from replica.format.batch import HEADER, decode_header, with_records
from replica.format.byte_source import OpenFile, Source
from replica.format.compression import (
    GZIP,
    LZ4,
    MAX_RECORDS_BYTES,
    NONE,
    SNAPPY,
    ZSTD,
    compress,
)
from replica.format.reading import open_file
from replica.format.record import records_of
from replica.format.segment import SegmentScan, scan
from replica.metadata.redact import Redactor
from tests.examples import examples
from tests.replica.scan.damaging import Pool, damaged, made_batch
from tests.secret_log import SECRET, batch, config, log, plain, snapshot

RECORDS = RecordRedactor(Redactor(b"a key of these tests"))


class Redacted(NamedTuple):
    content: bytes
    moved: Moved


def redacted(data: Source) -> Redacted:
    out = io.BytesIO()
    moved = redact_log(data, RECORDS, out)
    return Redacted(out.getvalue(), moved)


def told(found: SegmentScan) -> list[tuple[object, ...]]:
    """Of each batch all that isn't its place, its size or its CRC."""
    ignored = ("batch_length", "crc")
    return [
        (one.crc_valid, *(v for k, v in one.header._asdict().items() if k not in ignored))
        for one in found.batches
    ]


def test_a_log_with_secrets_of_every_kind_shows_none() -> None:
    for content in (log(), snapshot()):
        assert SECRET.encode() in content
        made = redacted(content).content
        assert SECRET.encode() not in made
        before, after = scan(content), scan(made)
        assert told(after) == told(before)
        assert [one.kind for one in after.damages] == [one.kind for one in before.damages]


def test_batches_without_a_secret_stay_byte_for_byte() -> None:
    sound = batch(0, [plain("a"), plain("b")])
    secret = batch(2, [plain("c"), config("ssl.key.password", SECRET)])
    made = redacted(sound + secret + bytes(40)).content
    assert made[: len(sound)] == sound
    assert made[len(sound) :] != secret + bytes(40)
    assert made.endswith(bytes(40)), "the zeros of a preallocated file stay"
    assert redacted(sound).content == sound


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_compressed_batch_stays_compressed(codec: int) -> None:
    values = [config("ssl.keystore.password", f"{SECRET}-{number}") for number in range(40)]
    batch = made_batch(values, random.Random(3), codec)
    made = redacted(batch).content
    (found,) = scan(made).batches
    assert found.header.codec == codec
    assert found.crc_valid
    assert SECRET not in repr(list(records_of(found.header, made)))


def test_positions_lead_from_the_old_file_to_the_same_batch_of_the_new_one() -> None:
    content = log()
    made = redacted(content)
    old, new = scan(content).batches, scan(made.content).batches
    assert [made.moved.position(one.position) for one in old] == [one.position for one in new]
    assert len(made.content) != len(content), "or the test shows nothing"


def outcomes(data: bytes) -> list[str]:
    """Of each batch how many of its records decode, and whether all of them do."""
    found = []
    for one in scan(data).batches:
        whole = data[one.position : one.position + one.header.size_bytes]
        count, ending = 0, "sound"
        try:
            for _ in records_of(one.header, whole):
                count += 1
        except DataError:
            ending = "broken"
        if one.crc_valid:
            found.append(f"{one.header.base_offset}: {count} {ending}")
    return found


@pytest.mark.parametrize("seed", range(examples(40)))
def test_damage_stays_damage_of_its_kind(data: Path, seed: int) -> None:
    chance = random.Random(seed)
    pool = POOLS.setdefault("pool", Pool(data, random.Random(0)))
    for _ in range(10):
        content = damaged(pool.segment(chance)[0], chance)
        made = redacted(content).content
        assert outcomes(made) == outcomes(content)
        before, after = scan(content), scan(made)
        assert [one.kind for one in after.damages] == [one.kind for one in before.damages]
        assert told(after) == told(before)


POOLS: dict[str, Pool] = {}


def opened(path: Path, content: bytes) -> OpenFile:
    path.write_bytes(content)
    return open_file(str(path), 2**31)


@pytest.mark.parametrize("seed", range(4))
def test_a_file_is_redacted_as_its_bytes_in_memory_are(
    data: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    pool = POOLS.setdefault("pool", Pool(data, random.Random(0)))
    content = damaged(pool.segment(chance)[0], chance) + bytes(3_000_000) + b"\x01"
    with opened(tmp_path / "a.log", content) as file:
        assert redacted(file).content == redacted(content).content


def test_a_file_that_is_cut_short_while_it_is_read_is_redacted_as_the_shorter_one(
    tmp_path: Path,
) -> None:
    sound, cut = batch(0, [plain("a")]), batch(1, [plain("b")])
    with opened(tmp_path / "a.log", sound + cut) as file:
        os.truncate(tmp_path / "a.log", len(sound) + 20)
        assert redacted(file).content == redacted(sound + cut[:20]).content


_HIDDEN = f"{SECRET} behind the stream".encode()


@pytest.mark.parametrize(
    ("codec", "stream"),
    [
        (
            GZIP,
            lambda body: (
                b"\x1f\x8b\x08\x08" + bytes(6) + _HIDDEN + b"\0" + gzip.compress(body)[10:]
            ),
        ),
        (GZIP, lambda body: gzip.compress(body) + _HIDDEN),
        (ZSTD, lambda body: skippable() + compress(ZSTD, body)),
        (LZ4, lambda body: compress(LZ4, body) + skippable()),
    ],
    ids=["gzip name", "gzip tail", "zstd frame", "lz4 frame"],
)
def test_bytes_of_a_codecs_stream_beside_the_records_are_left_out(
    codec: int, stream: Callable[[bytes], bytes]
) -> None:
    whole = made_batch([plain("a"), plain("b")], random.Random(3), NONE)
    header = decode_header(whole)._replace(attributes=codec)
    content = with_records(header, stream(whole[HEADER.size :]))
    assert _HIDDEN in content
    made = redacted(content).content
    assert _HIDDEN not in made
    (found,) = scan(made).batches
    assert list(records_of(found.header, made)) == list(records_of(decode_header(content), content))


def skippable() -> bytes:
    """A frame that readers of zstd and lz4 pass over."""
    return b"\x50\x2a\x4d\x18" + len(_HIDDEN).to_bytes(4, "little") + _HIDDEN


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_batch_too_large_to_be_read_stays_one(tmp_path: Path, count: int) -> None:
    header = decode_header(batch(7, [plain("a")]))._replace(
        record_count=count, last_offset_delta=max(0, count - 1)
    )
    content = with_records(header, SECRET.encode() + bytes(MAX_RECORDS_BYTES))
    with opened(tmp_path / "a.log", content + batch(5000, [plain("b")])) as file:
        made = redacted(file).content
    assert SECRET.encode() not in made
    assert outcomes(made) == ["7: 0 broken", "5000: 1 sound"]
