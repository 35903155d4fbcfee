"""CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), by the CPU's instruction or by tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types

from replica.scan.compilation import INPUT, LONG, Bytes, has_sse42, inner, intrinsic, kernel
from replica.scan.memory import byte_at, item, load_raw64, long

_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF


@intrinsic
def _crc_of_eight(context: Any, checksum: Any, eight_bytes: Any) -> Any:
    """SSE4.2's CRC32 of a 64-bit operand."""
    return types.uint64(types.uint64, types.uint64), _call_to("llvm.x86.sse42.crc32.64.64", 64, 64)


@intrinsic
def _crc_of_one(context: Any, checksum: Any, byte: Any) -> Any:
    """SSE4.2's CRC32 of an 8-bit operand."""
    return types.uint32(types.uint32, types.uint8), _call_to("llvm.x86.sse42.crc32.32.8", 32, 8)


def _call_to(name: str, width: int, operand_width: int) -> Any:
    whole, operand = ir.IntType(width), ir.IntType(operand_width)

    def generate(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.module.globals.get(name)
        if function is None:
            shape = ir.FunctionType(whole, [whole, operand])
            function = ir.Function(builder.module, shape, name)
        return builder.call(function, arguments)

    return generate


@inner
def crc_by_instruction(source: Bytes, start: int, end: int) -> int:
    """Of the bytes start <= i < end, which the caller knows to exist."""
    checksum = np.uint64(_ONES)
    position = start
    while position + 8 <= end:
        checksum = _crc_of_eight(checksum, load_raw64(source, position))
        position += 8
    narrow = np.uint32(checksum)
    while position < end:
        narrow = _crc_of_one(narrow, np.uint8(byte_at(source, position)))
        position += 1
    return long(narrow) ^ _ONES


def _slicing_tables() -> npt.NDArray[np.int64]:
    """Eight tables of 256, one behind another: table k passes a byte over k further zero bytes."""
    tables = [[0] * 256 for _ in range(8)]
    for byte in range(256):
        checksum = byte
        for _ in range(8):
            checksum = (checksum >> 1) ^ (_POLYNOMIAL if checksum & 1 else 0)
        tables[0][byte] = checksum
    for k in range(1, 8):
        for byte in range(256):
            before = tables[k - 1][byte]
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF]
    return np.array(tables, np.int64).ravel()


_TABLES = _slicing_tables()


@inner
def crc_by_tables(source: Bytes, start: int, end: int) -> int:
    """The same by slicing-by-8, on any machine."""
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


HAS_INSTRUCTION = has_sse42()
crc32c = crc_by_instruction if HAS_INSTRUCTION else crc_by_tables
"""The one that frames.py uses, chosen where this module is imported."""


def compiled_checksum(*, portable: bool) -> Any:
    """(bytes, start, end) -> CRC-32C as a function for Python, for tests and measurements."""
    function = crc_by_tables if portable else crc_by_instruction

    @kernel(LONG, INPUT, LONG, LONG)
    def checksum(source: Bytes, start: int, end: int) -> int:
        return function(source, start, end)

    return checksum
