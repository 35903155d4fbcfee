"""Calling compiled code: what it takes, and that a start does without numba."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replica.scan.compiled import KERNELS
from replica.scan.native import Parameter
from tests.bench.segments import batches
from tests.replica.scan.kernels_made import made

_ROOT = Path(__file__).parents[3]


def _sum(source, numbers, output, more):  # type: ignore[no-untyped-def]
    total = more
    for k in range(source.size):
        total += source[k]
        output[k] = source[k] + 1
    for k in range(numbers.size):
        total += numbers[k]
    return total


def test_arrays_and_numbers_come_through() -> None:
    kernel = made(_sum, Parameter.INPUT, Parameter.LONGS, Parameter.OUTPUT, Parameter.LONG)
    source, output = np.frombuffer(b"\x01\xff", np.uint8), np.zeros(2, np.uint8)
    numbers = np.array([1 << 40, -3], np.int64)
    assert kernel(source, numbers, output, np.int64(-7)) == 256 + (1 << 40) - 3 - 7
    assert output.tolist() == [2, 0]
    assert kernel(source[:0], numbers[:0], output[:0], -(1 << 63)) == -(1 << 63)


_BYTES, _LONGS = np.zeros(4, np.uint8), np.zeros(4, np.int64)


@pytest.mark.parametrize(
    "arguments",
    [
        (_LONGS, _LONGS, _BYTES, 0),
        (_BYTES, _BYTES, _BYTES, 0),
        (_BYTES, _LONGS.astype(">i8"), _BYTES, 0),
        (_BYTES, _LONGS, np.frombuffer(b"read", np.uint8), 0),
        (_BYTES[::2], _LONGS, _BYTES, 0),
        (_BYTES.reshape(2, 2), _LONGS, _BYTES, 0),
        (b"bytes", _LONGS, _BYTES, 0),
    ],
)
def test_another_array_than_the_signature_says_is_an_assertion(arguments: Any) -> None:
    kernel = made(_sum, Parameter.INPUT, Parameter.LONGS, Parameter.OUTPUT, Parameter.LONG)
    with pytest.raises(AssertionError, match=r"_sum: not (INPUT|LONGS|OUTPUT)"):
        kernel(*arguments)


@pytest.mark.slow
def test_dump_starts_without_numba(tmp_path: Path) -> None:
    for kernel in KERNELS:
        kernel.load()
    segment = tmp_path / f"{0:020d}.log"
    segment.write_bytes(b"".join(batch for batch, _ in batches(9_000_000)))
    code = (
        "import sys; from jobs.cli.main import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(f'{sorted(sys.modules)}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "dump", "--json", str(segment)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("\n") > 10_000, done.stderr
    assert "'replica.scan.native'" in done.stderr, "the bulk reader was used"
    for name in ("numba", "replica.scan.kernels", "replica.scan.compiler"):
        assert f"'{name}'" not in done.stderr
