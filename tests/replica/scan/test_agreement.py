"""Two readers, one truth: the bulk reader says of every buffer what the scalar reader says."""

from __future__ import annotations

import mmap
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.format.compression import GZIP, NONE, compress
from replica.format.record import Record, encode_records
from replica.message.schema import Value
from replica.metadata.codec import encode
from replica.metadata.log_record import UNREADABLE
from replica.metadata.record import new_record
from replica.metadata.redact import Redactor
from replica.scan import frames
from tests.examples import examples
from tests.replica.format.encoded import encode_batch
from tests.replica.scan.agreement import REDACTOR, hold_equal, scalar_records
from tests.replica.scan.agreement_on_meaning import hold_meaning_equal
from tests.replica.scan.damaging import Pool, damaged, made_batch, recorded_segments

_DATA = Path(__file__).parents[2] / "data"
NO_OP = b"\x01\x14\x00\x00"
_DIFFERENT = {path.read_bytes(): path for path in recorded_segments(_DATA)}


@pytest.mark.parametrize("path", _DIFFERENT.values(), ids=lambda path: str(path.relative_to(_DATA)))
def test_recorded_files(path: Path) -> None:
    raw = path.read_bytes()
    is_log = path.suffix == ".log"
    expected = int(path.stem) if is_log else 0
    # snapshots and the log of all types come with redaction too, logs without to save time
    for redactor in (None, REDACTOR) if "all-types" in str(path) else (REDACTOR,):
        hold_equal(raw, expected=expected, redactor=redactor)


@pytest.mark.parametrize("share", range(8))
def test_damaged_bytes(pool: Pool, share: int) -> None:
    for number in range(share * 250, share * 250 + examples(250)):
        chance = random.Random(number)
        segment, first = pool.segment(chance)
        raw = damaged(segment, chance)
        expected = chance.choice((first, None))
        redactor = chance.choice((None, REDACTOR))
        hold_equal(
            raw,
            start=chance.choice((0, 1 << 40)),
            expected=expected,
            redactor=redactor,
            with_lines=number % 4 == 0,
        )
        if number % 2:  # as costly as all before
            hold_meaning_equal(raw, expected=expected, redactor=redactor)


@settings(max_examples=examples(200))
@given(st.binary(max_size=400), st.sampled_from((None, 0, -1, 1 << 63)))
def test_random_bytes(raw: bytes, expected: int | None) -> None:
    hold_equal(raw, expected=expected)


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), st.booleans())
def test_random_values(bodies: list[bytes], redacted: bool) -> None:
    """Bodies behind the envelope of each type in turn, in sound records of a sound batch."""
    values = [b"\x01" + bytes([i % 29, i % 4]) + body for i, body in enumerate(bodies * 5)]
    batch = made_batch(values, random.Random(0))
    hold_equal(batch, expected=0, redactor=REDACTOR if redacted else None)


def _config(name: str, value: str) -> bytes:
    fields: dict[str, Value] = {"resourceType": 4, "name": name, "value": value}
    return encode(new_record("CONFIG_RECORD", 0, fields))


def test_configs_that_kafka_knows_or_not_and_unknown_tagged_fields(pool: Pool) -> None:
    names = ("retention.ms", "db.pwd", "api.key", "listener.name.a.ssl.protocol", "x", "größe")
    values = [_config(name, text) for name in names for text in ("1", "db://u:hunter2@host", "")]
    recorded = sorted({v for batch in pool.batches[-200:] for v in _values(batch)}, key=len)[::9]
    plain = [value for value in (*values, *recorded) if value.endswith(b"\0")]
    tagged = [value[:-1] + b"\x01\x63\x07hunter2" for value in plain]
    for shown in (frozenset[str](), frozenset({"db.pwd", "x"})):
        redactor = Redactor(b"a key for tests", shown)
        for one in (values, tagged, [*values, *tagged]):
            hold_equal(made_batch(one, random.Random(0)), expected=0, redactor=redactor)
    hold_equal(made_batch(tagged, random.Random(0)), expected=0, redactor=None)
    rows = scalar_records(made_batch(tagged, random.Random(0)), 0, 0, REDACTOR)
    assert all(row[10] is None or row[7] == UNREADABLE for row in rows)


def test_every_cut_of_every_value(pool: Pool) -> None:
    """A value that ends early, at each of its bytes, for some hundred values of all types."""
    values = sorted({v for batch in pool.batches[-200:] for v in _values(batch)}, key=len)[::4]
    for value in values:
        cuts = [value[:end] for end in range(min(len(value), 120))]
        hold_equal(made_batch(cuts, random.Random(0)), expected=0)


def _values(batch: bytes) -> list[bytes]:
    from replica.format.batch import decode_header
    from replica.format.record import records_of

    return [record.value or b"" for record in records_of(decode_header(batch), batch)]


def test_two_batches_in_doubt_at_the_end(pool: Pool) -> None:
    """The judgement of a misplaced batch asks the two behind it: they may be the last ones."""
    for gap in (-1, 1, 5):
        for behind in range(4):
            parts, offset = [], 0
            for number in range(3 + behind):
                offset += gap if number == 2 else 0
                batch = made_batch([NO_OP] * 2, random.Random(number))
                parts.append(struct.pack(">q", offset) + batch[8:])
                offset += 2
            hold_equal(b"".join(parts), expected=0)
            hold_equal(b"".join(parts) + b"junk", expected=None)


@pytest.mark.slow
def test_more_rows_than_a_chunk_holds() -> None:
    """Chunks end between batches; a batch beyond a chunk's rows goes to the scalar reader."""
    parts, offset = [], 0
    for count in (20_000, 12_768, 1, 20_000, frames.ROWS + 1, 3):
        records = [Record(offset + i, i, None, NO_OP) for i in range(count)]
        parts.append(
            encode_batch(
                base_offset=offset,
                leader_epoch=1,
                records=encode_records(records, offset, 0),
                record_count=count,
                last_offset_delta=count - 1,
                base_timestamp=0,
                max_timestamp=count,
            )
        )
        offset += count
    assert hold_equal(b"".join(parts), expected=0) == offset


def test_any_buffer(tmp_path: Path, pool: Pool) -> None:
    chance = random.Random(3)
    for number in range(30):
        segment, first = pool.segment(chance)
        raw = damaged(segment, chance) + bytes(number)
        if not raw:
            continue
        path = tmp_path / "segment"
        path.write_bytes(raw)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            hold_equal(raw, expected=first, buffer=memoryview(raw))
            hold_equal(raw, expected=first, buffer=bytearray(raw))
            hold_equal(raw, expected=first, buffer=whole)


_LEAST_LONG, _GREATEST_LONG = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("base", "deltas"),
    [
        (_LEAST_LONG, (0, 1)),
        (_LEAST_LONG + 1, (-1, 0)),
        (0, (_LEAST_LONG, _GREATEST_LONG)),
        (-1, (0, _LEAST_LONG)),
        (_GREATEST_LONG, (0, 1)),
    ],
)
@pytest.mark.parametrize("is_append_time", [False, True])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_the_least_and_the_greatest_timestamp_are_told_alike(
    base: int, deltas: tuple[int, int], is_append_time: bool, codec: int
) -> None:
    """A compressed batch is read by the scalar reader, within the bulk reader."""
    records = [Record(i, base + delta, None, NO_OP) for i, delta in enumerate(deltas)]
    batch = encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=compress(codec, encode_records(records, 0, base)),
        record_count=2,
        last_offset_delta=1,
        base_timestamp=base,
        max_timestamp=base,
        attributes=codec | (0x08 if is_append_time else 0),
    )
    assert hold_equal(batch, expected=0) == 2
