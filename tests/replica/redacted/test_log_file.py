"""Segments and snapshots without secrets: the same batches, and the same damage."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from replica.errors import DataError
from replica.format.compression import GZIP, LZ4, SNAPPY, ZSTD
from replica.format.record import records_of
from replica.format.segment import SegmentScan, scan
from replica.metadata.redact import Redactor
from replica.redacted.log_file import RedactedLog, redacted_log
from replica.redacted.records import RecordRedactor
from tests.replica.scan.damaging import Pool, damaged, made_batch
from tests.secret_log import SECRET, batch, config, log, plain, snapshot

RECORDS = RecordRedactor(Redactor(b"a key of these tests"))


def redacted(data: bytes) -> RedactedLog:
    return redacted_log(data, RECORDS)


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
    assert [made.position(one.position) for one in old] == [one.position for one in new]
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


@pytest.mark.parametrize("seed", range(40))
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
