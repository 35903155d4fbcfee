"""CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), by the CPU's instruction or by tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types

from replica.format.checksum import crc_of_byte
from replica.scan.kernels.compilation import inner, intrinsic
from replica.scan.kernels.memory import byte_at, item, load_raw64, long
from replica.scan.native import Bytes
from replica.scan.target import CpuTarget, host

_ONES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Instruction:
    """A CPU's instruction that adds another operand to a CRC-32C."""

    name: str
    """LLVM's name of the instruction."""
    checksum_bits: int
    """The width of the operand that is the checksum."""
    operand_bits: int
    """The width of the other operand."""


SSE42 = (
    Instruction("llvm.x86.sse42.crc32.64.64", 64, 64),
    Instruction("llvm.x86.sse42.crc32.32.8", 32, 8),
)
"""The CRC-32C instructions of x86-64: one takes eight bytes, the other takes one byte."""
ARM_CRC = (
    Instruction("llvm.aarch64.crc32cx", 32, 64),
    Instruction("llvm.aarch64.crc32cb", 32, 32),
)
"""The instructions of 64-bit ARM: one takes eight bytes, the other takes the lowest byte of its
operand."""


def instructions(target: CpuTarget) -> tuple[Instruction, Instruction] | None:
    """The instructions that the CPU has; None if the CPU has none, so that tables are used."""
    architecture = target.triple.split("-")[0]
    if architecture == "x86_64" and target.has("crc32"):
        return SSE42
    if architecture in ("aarch64", "arm64") and target.has("crc"):
        return ARM_CRC
    return None


def call_instruction(builder: Any, instruction: Instruction, checksum: Any, operand: Any) -> Any:
    """LLVM code that computes the next checksum from a checksum and an operand. All three numbers
    have 64 bits in this code, whatever widths the instruction takes."""
    wide = ir.IntType(64)
    shape = [ir.IntType(instruction.checksum_bits), ir.IntType(instruction.operand_bits)]
    function = builder.module.globals.get(instruction.name)
    if function is None:
        kind = ir.FunctionType(shape[0], shape)
        function = ir.Function(builder.module, kind, instruction.name)
    narrow = [
        _resized(builder, v, kind) for v, kind in zip((checksum, operand), shape, strict=True)
    ]
    return _resized(builder, builder.call(function, narrow), wide)


def _resized(builder: Any, value: Any, kind: Any) -> Any:
    if value.type.width == kind.width:
        return value
    resize = builder.zext if value.type.width < kind.width else builder.trunc
    return resize(value, kind)


def _step(which: int) -> Any:
    """The intrinsic function that adds another operand to a checksum. which: 0 for an operand of
    eight bytes, 1 for one byte."""
    found = instructions(host())

    @intrinsic
    def step(context: Any, checksum: Any, operand: Any) -> Any:
        def generate(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            assert found is not None
            return call_instruction(builder, found[which], *arguments)

        return types.uint64(types.uint64, types.uint64), generate

    return step


_with_eight, _with_one = _step(0), _step(1)


@inner
def crc_by_instruction(source: Bytes, start: int, end: int) -> int:
    """The CRC of the bytes start <= i < end, by the CPU's instruction. The caller has checked that
    these bytes exist."""
    checksum = np.uint64(_ONES)
    position = start
    while position + 8 <= end:
        checksum = _with_eight(checksum, load_raw64(source, position))
        position += 8
    while position < end:
        checksum = _with_one(checksum, np.uint64(byte_at(source, position)))
        position += 1
    return long(checksum) ^ _ONES


def _slicing_tables() -> npt.NDArray[np.int64]:
    """Eight tables of 256 numbers, one after another. Table k has, for each byte, the CRC of this
    byte and of k zero bytes behind it."""
    tables = [[crc_of_byte(byte) for byte in range(256)]]
    for _ in range(7):
        tables.append([before >> 8 ^ tables[0][before & 0xFF] for before in tables[-1]])
    return np.array(tables, np.int64).ravel()


_TABLES = _slicing_tables()


@inner
def crc_by_tables(source: Bytes, start: int, end: int) -> int:
    """The CRC of the bytes start <= i < end, computed with tables (slicing-by-8). This function
    works on every CPU."""
    checksum = np.uint64(_ONES)
    position = start
    while position + 8 <= end:
        mixed = load_raw64(source, position) ^ checksum
        checksum = np.uint64(0)
        for k in range(8):
            byte = long((mixed >> np.uint64(8 * k)) & np.uint64(0xFF))
            checksum ^= np.uint64(item(_TABLES, (7 - k) * 256 + byte))
        position += 8
    narrow = long(checksum)
    while position < end:
        narrow = (narrow >> 8) ^ item(_TABLES, (narrow ^ byte_at(source, position)) & 0xFF)
        position += 1
    return narrow ^ _ONES


crc32c = crc_by_tables if instructions(host()) is None else crc_by_instruction
"""The function that computes a CRC-32C on this CPU."""
