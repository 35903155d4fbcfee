"""The hash of a growing file depends on its bytes alone, not on the steps in which it was
computed."""

from __future__ import annotations

import hashlib
import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from replica.format.content_hash import CHUNK_BYTES, hash_chain

DATA = random.Random(7).randbytes(5 * CHUNK_BYTES)
SIZES = st.integers(0, len(DATA)) | st.integers(0, 5).map(lambda number: number * CHUNK_BYTES)


@given(SIZES, SIZES, SIZES)
def test_a_hash_that_was_continued_is_that_of_the_whole(one: int, other: int, third: int) -> None:
    sizes = sorted((one, other, third))
    chain = hash_chain(DATA[: sizes[0]])
    for known, size in itertools.pairwise(sizes):
        start, link = chain.before(known)
        chain = hash_chain(DATA[start:size], start=start, link=link)
        assert chain.digest == hash_chain(DATA[:size]).digest


@given(st.integers(0, CHUNK_BYTES))
def test_a_file_of_one_chunk_has_its_sha_256(size: int) -> None:
    assert hash_chain(DATA[:size]).digest == hashlib.sha256(DATA[:size]).hexdigest()


@given(SIZES, st.integers(0, 5 * CHUNK_BYTES - 1))
def test_any_other_byte_is_another_hash(size: int, position: int) -> None:
    changed = bytearray(DATA)
    changed[position] ^= 1
    is_same = hash_chain(changed[:size]).digest == hash_chain(DATA[:size]).digest
    assert is_same == (position >= size)
