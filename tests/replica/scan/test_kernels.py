"""The pieces of the bulk reader, each against the plain Python that it stands for."""

from __future__ import annotations

import base64
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import crc32c
import numpy as np
import pyarrow as pa
import pytest

from replica.message.schema import Field, Kind, Value
from replica.metadata.codec import encode
from replica.metadata.json_text import json_text, to_plain
from replica.metadata.known_configs import KNOWN_CONFIGS
from replica.metadata.programs import programs
from replica.metadata.record import new_record
from replica.metadata.records import RECORDS
from replica.metadata.redact import SECRET_FIELDS, is_secret_config
from replica.metadata.variant import encode_variant
from replica.scan import tables
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.columns import microseconds
from replica.scan.kernels import straight
from replica.scan.kernels.checksum import crc_by_instruction, crc_by_tables, instructions
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.text import is_utf8, put_base64, put_escaped, put_integer, put_uuid
from replica.scan.native import Kernel, Parameter
from replica.scan.target import host
from tests.bench.segments import batches
from tests.replica.metadata.password_configs import PASSWORD_CONFIGS
from tests.replica.scan.agreement import REDACTOR, hold_equal
from tests.replica.scan.damaging import made_batch
from tests.replica.scan.kernels_made import made
from tests.traced_memory import peak_of

_ROOT = Path(__file__).parents[3]


_without = pytest.mark.skipif(instructions(host()) is None, reason="a CPU without CRC-32C")


@pytest.mark.parametrize(
    "function", [crc_by_tables, pytest.param(crc_by_instruction, marks=_without)]
)
def test_both_kernels_of_crc32c_equal_the_library(function) -> None:  # type: ignore[no-untyped-def]
    def over(source, start, end):  # type: ignore[no-untyped-def]
        return function(source, start, end)

    checksum = made(over, Parameter.INPUT, Parameter.LONG, Parameter.LONG)
    raw = random.Random(5).randbytes(600)
    array = np.frombuffer(raw, np.uint8)
    for start in range(9):
        for end in (*range(start, start + 40), 599, 600):
            assert checksum(array, start, end) == crc32c.crc32c(raw[start:end])


def _text(source, what, output):  # type: ignore[no-untyped-def]
    if what == 0:
        return put_escaped(output, 0, source, 0, source.size)
    if what == 1:
        return put_base64(output, 0, source, 0, source.size)
    if what == 2:
        return put_uuid(output, 0, source, 0)
    if what == 3:
        return np.int64(is_utf8(source, 0, source.size))
    return np.int64(is_telling_config(source, 0, source.size))


def _number(numbers, output):  # type: ignore[no-untyped-def]
    return put_integer(output, 0, numbers[0])


@pytest.fixture(scope="module")
def text() -> Kernel:
    return made(_text, Parameter.INPUT, Parameter.LONG, Parameter.OUTPUT)


def _run(text: Kernel, raw: bytes, what: int) -> bytes:
    output = np.zeros(6 * len(raw) + 64, np.uint8)
    size = text(np.frombuffer(raw, np.uint8), what, output)
    return output[:size].tobytes()


def test_integers() -> None:
    edges = [
        0,
        -1,
        *(sign * (10**k + d) for k in range(19) for d in (-1, 0, 1) for sign in (1, -1)),
    ]
    edges += [-(1 << 63), (1 << 63) - 1, *(1 << k for k in range(63))]
    output = np.zeros(64, np.uint8)
    put = made(_number, Parameter.LONGS, Parameter.OUTPUT)
    for number in edges:
        size = put(np.array([number], np.int64), output)
        assert output[:size].tobytes() == str(number).encode()


def test_escapes_base64_and_uuids(text: Kernel) -> None:
    from replica.message.json_text import quote

    chance = random.Random(8)
    texts = [chr(code) for code in range(256)]
    texts += ["".join(chance.choices('abc"\\\n\x01é\u20ac😀', k=k)) for k in range(40)]
    for plain in texts:
        assert b'"' + _run(text, plain.encode(), 0) + b'"' == quote(plain).encode()
    for size in range(40):
        raw = chance.randbytes(size)
        assert _run(text, raw, 1) == base64.b64encode(raw)
    for _ in range(50):
        raw = chance.randbytes(16)
        assert _run(text, raw, 2) == base64.urlsafe_b64encode(raw).rstrip(b"=")


def _decodes(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_utf8_is_pythons(text: Kernel) -> None:
    chance = random.Random(9)
    edges = bytes.fromhex("007f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")
    samples = [bytes([a, b]) for a in range(256) for b in edges]
    samples += [bytes(chance.choices(edges, k=chance.randint(1, 6))) for _ in range(20_000)]
    samples += [b"abcdefgh" + sample for sample in samples[:3000]]
    output = np.zeros(1, np.uint8)
    for raw in samples:
        assert bool(text(np.frombuffer(raw, np.uint8), 3, output)) == _decodes(raw), raw


def _config(name: bytes, value: bytes = b"v") -> np.ndarray:  # type: ignore[type-arg]
    texts = (b"x", name, value)
    raw = b"".join(bytes([len(one) + 1]) + one for one in texts)
    return np.frombuffer(b"\x02" + raw + b"\x00", np.uint8)


def test_no_secret_config_passes_the_kernel(text: Kernel) -> None:
    output = np.zeros(1, np.uint8)
    odd = ("My.SECRET", "x\u017fecret", "to\u212aen", "a.TrustStore.b", "passwor", "p", "", "zzz")
    for name in (*PASSWORD_CONFIGS, *odd, "retention.m", "retention.mss", "Retention.ms"):
        assert text(_config(name.encode()), 4, output), name
    for name in KNOWN_CONFIGS:
        assert bool(text(_config(name.encode()), 4, output)) == is_secret_config(name), name
    for value in (b"u://v@w", b"://@", b"a,b://c:d@e/"):
        assert text(_config(b"retention.ms", value), 4, output), value
    for value in (b"u://v.w", b"@://", b"a:/b@c", b"://", b"@", b""):
        assert not text(_config(b"retention.ms", value), 4, output), value
    for end in range(len(_config(b"retention.ms")) - 1):
        assert text(_config(b"retention.ms")[:end], 4, output), "what breaks off is not judged here"


def test_secret_types_never_reach_the_kernels() -> None:
    table = tables.program_table(keep_secrets=False)
    for schema in RECORDS:
        programs_of = table[schema.api_key * 16 : schema.api_key * 16 + 16]
        assert (schema.name in SECRET_FIELDS) == all(p == -1 for p in programs_of)


def test_every_program_is_laid_out() -> None:
    assert programs() == tables.KERNEL_PROGRAMS
    assert tables.STEPS.size == tables.STEP_COLUMNS * sum(len(p.steps) for p in programs())
    known = {(p.schema.name, p.version) for p in programs()}
    assert known >= set(straight.COMMON)
    for program in programs():
        if (program.schema.name, program.version) in straight.COMMON:
            for form in ("json", "variant", "places"):
                compile(straight.straight_source(program, form), "<test>", "exec")


def _longest(f: Field, size: int, version: int) -> Value:
    """A value of the field that takes much more room as text than as bytes."""
    if f.is_array:
        one = replace(f, is_array=False)
        return tuple(_longest(one, 0 if size % 2 else 3, version) for _ in range(size))
    if f.kind is Kind.STRUCT:
        return {inner.name: _longest(inner, size, version) for inner in f.fields}
    if f.kind is Kind.STRING:
        return None if f.is_nullable(version) and size == 0 else "\x01" * size
    if f.kind is Kind.BYTES:
        return b"x" * size
    if f.kind is Kind.UUID:
        return "A" * 22
    numbers: dict[Kind, Value] = {Kind.BOOL: False, Kind.FLOAT64: -1234567.0, Kind.UINT16: 65535}
    bits = {Kind.INT8: 7, Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
    return numbers[f.kind] if f.kind in numbers else -(1 << bits[f.kind])


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 255, 256, 1001])
def test_no_output_is_longer_than_the_room_set_aside(size: int) -> None:
    """What keeps the kernels, which write unchecked, inside their buffers."""
    lines = tables.PROGRAMS.reshape(-1, tables.PROGRAM_COLUMNS).tolist()
    values = []
    for program, line in zip(tables.KERNEL_PROGRAMS, lines, strict=True):
        schema = program.schema
        fields = {
            f.name: _longest(f, size, program.version) for f in schema.fields_at(program.version)
        }
        record = new_record(schema.name, program.version, fields)
        value = encode(record)
        values.append(value)
        json_room = line[tables.PROGRAM_JSON_BASE] + line[tables.PROGRAM_JSON_FACTOR] * len(value)
        assert len(json_text(record).encode()) <= json_room
        variant, dictionary = encode_variant(to_plain(record))
        variant_room = line[tables.PROGRAM_VARIANT_BASE]
        variant_room += line[tables.PROGRAM_VARIANT_FACTOR] * len(value)
        assert len(variant) <= variant_room
        assert len(dictionary) <= tables.MAX_DICTIONARY
    hold_equal(made_batch(values, random.Random(0)), expected=0)


def test_times() -> None:
    times = pa.array([0, -1, None, 1_700_000_000_001, 1 << 62, -(1 << 63)], pa.int64())
    assert microseconds(times).cast(pa.int64()).to_pylist() == [
        0,
        None,
        None,
        1_700_000_000_001_000,
        None,
        None,
    ]


def test_empty_data_has_no_rows() -> None:
    assert list(RecordScan(b"")) == list(BatchScan(b"")) == []


def test_the_generated_segment_is_read_as_by_the_scalar_reader() -> None:
    data = b"".join(batch for batch, _ in batches(300_000, pool=3000))
    assert hold_equal(data, expected=0, redactor=REDACTOR) > 3000


def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    part = b"".join(batch for batch, _ in batches(2_000_000, pool=2000))

    def peak(data: bytes) -> int:
        """The peak of numpy's arrays and Python's objects. Arrow counts its own memory, which the
        test looks at below."""

        def read() -> None:
            for table in RecordScan(data):
                assert table.num_rows

        return peak_of(read)

    peak(part)
    small, arrow = peak(part * 4), pa.total_allocated_bytes()
    large = peak(part * 12)
    assert large < small * 1.3
    assert pa.total_allocated_bytes() <= arrow + (1 << 20), "batches are given back"


@pytest.mark.slow
def test_a_cpu_without_the_instruction() -> None:
    """All kernels for numba's `generic` CPU: slicing-by-8 in the place of SSE4.2."""
    code = (
        "from replica.scan.target import host; assert host().cpu == 'generic';"
        "from tests.replica.scan.agreement import hold_equal;from pathlib import Path;"
        "p = Path('tests/data/generated-all-types/00000000000000000000.log');"
        "print(hold_equal(p.read_bytes()))"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "1051\n", done.stderr
