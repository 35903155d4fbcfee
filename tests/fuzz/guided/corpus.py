"""The inputs of a target: its seeds, and mutations of them without guidance."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.guided.target import Target

_ODD = (b"\0", b"\xff", b"\x80", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff\x0f")


def name_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def write_seeds(target: Target, folder: Path) -> int:
    """Writes each seed as a file, named by its content. Gives the number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in target.seeds():
        if len(data) <= target.max_bytes:
            (folder / name_of(data)).write_bytes(data)
    return len(list(folder.iterdir()))


def mutated(target: Target, seed: int, count: int) -> Iterator[bytes]:
    """The seeds, and then `count` mutations of them. The same seed gives the same mutations."""
    chance = random.Random(f"{target.name} {seed}")
    seeds = [data for data in target.seeds() if len(data) <= target.max_bytes]
    yield from seeds
    words = [*_ODD, *(word.encode() for word in target.words)]
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 4))):
            _mutate(data, chance, words)
        yield bytes(data[: target.max_bytes])


def _mutate(data: bytearray, chance: random.Random, words: list[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    size = chance.randint(1, 8)
    kind = chance.randrange(6)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at : at + size] = chance.randbytes(size)
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3:
        data[at:at] = chance.choice(words)
    elif kind == 4:
        other = chance.randrange(len(data) + 1)
        data[at:at] = data[other : other + chance.randint(1, 40)]
    else:
        word = chance.choice(words)
        data[at : at + len(word)] = word
