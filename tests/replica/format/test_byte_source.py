"""Bytes by their positions, of buffers and of files that a running node changes."""

from __future__ import annotations

import mmap
import os
import timeit
from pathlib import Path

import pytest

from replica.errors import UnreadableFileError
from replica.format.byte_source import (
    InMemory,
    OpenFile,
    ShrankError,
    byte_source,
    end_of_content,
)
from replica.format.reading import open_file


def test_a_buffer_gives_views_of_itself() -> None:
    data = bytearray(b"abcdef")
    source = byte_source(data)
    assert isinstance(source, InMemory)
    assert source.size == 6
    assert bytes(source.read(2, 3)) == b"cde"
    with pytest.raises(TypeError):
        source.read(0, 1)[0] = 1


def test_a_mapped_file_is_a_buffer(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"abc")
    with (tmp_path / "log").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        assert bytes(InMemory(mapped).read(1, 2)) == b"bc"


def test_a_file_that_was_cut_short_says_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"abcdef")
    with open_file(str(path), 6) as file:
        assert byte_source(file) is file
        assert bytes(file.read(1, 4)) == b"bcde"
        os.truncate(path, 4)
        target = memoryview(bytearray(9))
        assert file.read_into(target, 1) == 3
        assert bytes(target[:3]) == b"bcd"
        assert file.size == 4
        os.truncate(path, 2)
        with pytest.raises(ShrankError):
            file.read(1, 3)
        assert file.size == 2
        assert file.read_all() == b"ab"


def test_bytes_appended_to_an_open_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"abc")
    with open_file(str(path), 3) as file:
        path.write_bytes(b"abcdef")
        assert file.read_into(memoryview(bytearray(9)), 0) == 3
        assert file.read_all() == b"abc"


def test_a_read_error_of_the_disk_is_one_line(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    with (
        OpenFile("log", folder, 3) as file,
        pytest.raises(UnreadableFileError, match="log: Is a directory"),
    ):
        file.read(0, 3)


_MIB = 1 << 20


@pytest.mark.parametrize("length", [0, 1, 10, _MIB - 1, _MIB, _MIB + 1, 3 * _MIB + 7])
def test_the_end_of_content_is_that_of_the_last_byte_that_is_not_zero(length: int) -> None:
    assert end_of_content(bytes(length)) == 0
    for last in {0, length // 2, length - _MIB - 1, length - _MIB, length - 1}:
        if 0 <= last < length:
            data = bytearray(length)
            data[last] = 1
            assert end_of_content(bytes(data)) == last + 1
            data[0] = 1
            assert end_of_content(bytes(data)) == last + 1


def test_the_end_of_content_of_many_zeros_is_found_as_fast_as_zeros_are_compared() -> None:
    zeros = bytes(64 * _MIB)
    wanted = min(timeit.repeat(lambda: zeros == bytes(64 * _MIB), number=1, repeat=3))
    assert min(timeit.repeat(lambda: end_of_content(zeros), number=1, repeat=3)) < 4 * wanted
