"""What a file of keys is, whatever lies at its path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replica.format.key_stores import StoreFile, read_store

KEY, CERTIFICATE = (
    f"-----BEGIN {what}-----\n".encode() for what in ("ENCRYPTED PRIVATE KEY", "CERTIFICATE")
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xfe\xed\xfe\xed\0\0\0\x02", StoreFile(is_key_store=True)),
        (b"\x30\x82\x01\x00", StoreFile(is_key_store=True)),
        (KEY + CERTIFICATE, StoreFile(has_pem_key=True, has_pem_certificate=True)),
        (CERTIFICATE, StoreFile(has_pem_certificate=True)),
        (b"", StoreFile()),
    ],
)
def test_a_file_is_told_by_its_bytes(tmp_path: Path, content: bytes, expected: StoreFile) -> None:
    path = tmp_path / "store"
    path.write_bytes(content)
    assert read_store(str(path)) == expected


def test_what_is_no_file_has_a_reason_and_blocks_nobody(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = {read_store(str(one)).reason for one in (tmp_path, pipe, tmp_path / "none")}
    assert told == {"not a regular file", "no such file"}
    assert read_store("a\0b").reason == "its name has a zero byte"
