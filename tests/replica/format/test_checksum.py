"""CRC-32C by tables is that of the compiled package, and of the standard's own examples."""

from __future__ import annotations

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.format.checksum import by_tables


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_the_examples_of_rfc_3720_have_their_checksums(data: bytes, expected: int) -> None:
    assert by_tables(data) == expected


@given(st.binary(max_size=70), st.binary(max_size=70))
def test_tables_go_on_from_any_byte_as_the_compiled_package_does(first: bytes, rest: bytes) -> None:
    whole = by_tables(first + rest)
    assert whole == crc32c.crc32c(first + rest)
    assert by_tables(memoryview(rest), by_tables(bytearray(first))) == whole
