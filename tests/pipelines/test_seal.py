"""Hashes of files that nobody can compute without the lake's key."""

from __future__ import annotations

import hashlib

import pytest

from pipelines.lake.seal import OPEN, Seal, is_sealed

SEAL = Seal(b"a key of this lake")
HASHES = [hashlib.sha256(bytes([n])).hexdigest() for n in range(50)]


def test_sealed_hashes_open_with_the_lakes_key_and_are_equal_where_the_hashes_are() -> None:
    sealed = [SEAL.close(one) for one in HASHES]
    assert [SEAL.open(one) for one in sealed] == HASHES
    assert len(set(sealed)) == len(HASHES)
    assert sealed == [Seal(b"a key of this lake").close(one) for one in HASHES]
    assert all(
        is_sealed(one) and not is_sealed(own) for one, own in zip(sealed, HASHES, strict=True)
    )


def test_no_part_of_a_sealed_hash_is_the_hash_or_that_of_another_key() -> None:
    other = Seal(b"another key")
    for own in HASHES:
        sealed, others = SEAL.close(own), other.close(own)
        for start in range(0, 96, 8):
            assert sealed[start : start + 8] not in own
            assert sealed[start : start + 8] not in others
        assert other.open(sealed) is None


@pytest.mark.parametrize("position", [0, 31, 32, 95])
def test_a_changed_seal_does_not_open(position: int) -> None:
    sealed = SEAL.close(HASHES[0])
    changed = "0" if sealed[position] != "0" else "1"
    assert SEAL.open(sealed[:position] + changed + sealed[position + 1 :]) is None


@pytest.mark.parametrize("text", ["", "aa", HASHES[0]])
def test_a_text_that_is_no_seal_opens_to_nothing(text: str) -> None:
    assert SEAL.open(text) == (None if text else "")
    assert OPEN.open(OPEN.close(text)) == text
    assert "key" not in repr(SEAL)
