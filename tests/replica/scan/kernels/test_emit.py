"""Kernels as object files: the same as by numba alone, and for other CPUs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from llvmlite import binding, ir
from numba.core.errors import TypingError

from replica.scan import compiled, frames, tables
from replica.scan.kernels.checksum import ARM_CRC, SSE42, call_instruction, instructions
from replica.scan.kernels.emit import target_machine
from replica.scan.native import Kernel, Parameter
from replica.scan.target import CpuTarget
from tests.bench.segments import batches
from tests.replica.scan.kernels_made import by_numba, made

_DATA = b"".join(batch for batch, _ in batches(200_000, pool=2000))
_SOURCE = np.frombuffer(_DATA, np.uint8)

Call = Callable[..., int]


def _walked(walk: Call) -> list[Any]:
    batches_, rows = (
        np.zeros(columns * items, np.int64)
        for columns, items in (
            (frames.BATCH_COLUMNS, frames.BATCHES),
            (frames.ROW_COLUMNS, frames.ROWS),
        )
    )
    state = np.zeros(frames.STATE_ITEMS, np.int64)
    programs = tables.program_table(keep_secrets=True)
    stop = walk(_SOURCE, 0, 0, 1, programs, batches_, rows, state)
    return [stop, batches_, rows, state]


def _gathered(gather: Call) -> list[Any]:
    rows, count = _rows()
    output, offsets = np.zeros(len(_DATA), np.uint8), np.zeros(count + 1, np.int64)
    return [gather(_SOURCE, rows, 0, count, output, offsets), offsets, output]


def _variants(write: Call) -> list[Any]:
    rows, count = _rows()
    outputs = [np.zeros(4_000_000, np.uint8) for _ in range(2)]
    offsets = [np.zeros(count + 1, np.int64) for _ in range(3)]
    known = np.zeros(tables.KNOWN * tables.KNOWN_COLUMNS, np.int64)
    known_bytes = np.zeros(tables.KNOWN * tables.DICTIONARY_ROOM, np.uint8)
    row = write(
        _SOURCE,
        rows,
        0,
        count,
        -1,
        outputs[0],
        offsets[0],
        outputs[1],
        offsets[1],
        offsets[2],
        np.zeros(2 * tables.MAX_WIDTH, np.int64),
        known,
        known_bytes,
    )
    written = [made[: at[-1]] for made, at in zip(outputs, offsets[:2], strict=True)]
    return [row, *offsets, *written]


def _rows() -> tuple[Any, int]:
    _, _, rows, state = _walked(compiled.walk_frames)
    return rows, int(state[frames.STATE_ROWS])


_slow = pytest.mark.slow  # numba alone optimizes for a quarter of a minute


@pytest.mark.parametrize(
    ("kernel", "run"),
    [
        (compiled.walk_frames, _walked),
        (compiled.gather_values, _gathered),
        pytest.param(compiled.write_variants, _variants, marks=_slow),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_loaded_object_does_what_numba_s_own_code_does(
    kernel: Kernel, run: Callable[[Call], list[Any]]
) -> None:
    module = import_module(f"replica.scan.kernels.{kernel.module}")
    alone = by_numba(getattr(module, kernel.name), *kernel.parameters)
    for ours, numbas in zip(run(kernel), run(alone), strict=True):
        assert np.array_equal(ours, numbas)
    assert np.size(run(kernel)[1]) > 2000


def test_a_kernel_that_raises_is_refused() -> None:
    def raising(number):  # type: ignore[no-untyped-def]
        if number == 0:
            raise ValueError
        return number

    with pytest.raises(AssertionError, match="raising allocates or raises: it calls raised"):
        made(raising, Parameter.LONG)


def test_a_kernel_that_allocates_is_refused() -> None:
    def allocating(number):  # type: ignore[no-untyped-def]
        return np.zeros(number, np.int64)[number // 2]

    with pytest.raises(TypingError, match="Only accept returning of array passed"):
        made(allocating, Parameter.LONG)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (CpuTarget("x86_64-unknown-linux-gnu", "x86-64", "+sse4.2,+crc32"), SSE42),
        (CpuTarget("x86_64-unknown-linux-gnu", "generic", "+sse4.2,-crc32"), None),
        (CpuTarget("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+crc"), ARM_CRC),
        (CpuTarget("arm64-apple-darwin", "apple-m1", "+crc"), ARM_CRC),
        (CpuTarget("aarch64-unknown-linux-gnu", "generic", ""), None),
        (CpuTarget("powerpc64le-unknown-linux-gnu", "pwr9", "+crc"), None),
    ],
)
def test_the_checksum_is_chosen_by_the_cpu(target: CpuTarget, expected: object) -> None:
    assert instructions(target) == expected


_ELF_MACHINE = {"x86_64": b"\x3e\x00", "aarch64": b"\xb7\x00"}


@pytest.mark.parametrize(
    ("target", "mnemonics"),
    [
        (CpuTarget("x86_64-unknown-linux-gnu", "x86-64", "+sse4.2,+crc32"), ("crc32q", "crc32b")),
        (CpuTarget("aarch64-unknown-linux-gnu", "generic", "+crc"), ("crc32cx", "crc32cb")),
    ],
    ids=["x86-64", "aarch64"],
)
def test_the_checksum_s_instructions_compile(target: CpuTarget, mnemonics: tuple[str, str]) -> None:
    """For ARM too, wherever this runs."""
    module = ir.Module()
    module.triple = target.triple
    long = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(long, [long, long]), "checksum")
    builder = ir.IRBuilder(function.append_basic_block())
    found = instructions(target)
    assert found is not None
    eight = call_instruction(builder, found[0], *function.args)
    builder.ret(call_instruction(builder, found[1], eight, function.args[1]))
    machine = target_machine(target)
    parsed = binding.parse_assembly(str(module))
    assembly = machine.emit_assembly(parsed)
    assert all(mnemonic in assembly for mnemonic in mnemonics)
    image = machine.emit_object(parsed)
    assert image[:4] == b"\x7fELF"
    assert image[18:20] == _ELF_MACHINE[target.triple.split("-")[0]]
