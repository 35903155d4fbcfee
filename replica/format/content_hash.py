"""The hash of a log segment's content. After the segment has grown, only the new bytes are read.

A segment only grows at its end, so its hash is a chain over chunks of CHUNK_BYTES: SHA-256 of the
first chunk, then for each further chunk SHA-256 of (hash so far, chunk). The hash depends only on
the bytes, not on the steps in which they were read. The hash of one chunk is its SHA-256.

Callers that compare hashes must compare sizes too: a file of (hash of chunk A, chunk B) has the
same hash as the longer file of (chunk A, chunk B).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replica.format.byte_source import Source, blocks
from replica.format.file_names import FileKind, FileName

CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class HashChain:
    """The hashes of a file from its beginning, chunk by chunk."""

    start: int
    """The byte of the file at which the chain begins, a multiple of CHUNK_BYTES."""
    links: tuple[bytes, ...]
    """The hash of the bytes before `start` (b"" at 0), then the hash after each chunk. The last
    hash is the hash of the whole file."""

    @property
    def digest(self) -> str:
        """The hash of the whole file, in hex digits."""
        return self.links[-1].hex()

    def before(self, position: int) -> tuple[int, str]:
        """(the chunk border at or before `position`, the hash of the bytes before the border in hex
        digits). A reader that knows the bytes before `position` continues from the border.
        position: `start` or above."""
        number = position // CHUNK_BYTES
        return number * CHUNK_BYTES, self.links[number - self.start // CHUNK_BYTES].hex()


class ContentHash:
    """The hash of a file of any kind, computed while its bytes are read: a chain for segments,
    SHA-256 for other files.

    size: the number of bytes read.
    """

    def __init__(self, name: FileName) -> None:
        self.size = 0
        self._plain = None if name.kind is FileKind.SEGMENT else hashlib.sha256()
        self._link = b""

    def passing(self, blocks: Iterable[memoryview]) -> Iterator[memoryview]:
        """The same blocks, which are hashed on the way. The size of each block except the last must
        be a multiple of CHUNK_BYTES."""
        for block in blocks:
            self.size += len(block)
            if self._plain is None:
                *_, self._link = self._link, *_links(self._link, block)
            else:
                self._plain.update(block)
            yield block

    @property
    def digest(self) -> str:
        """The hash of the bytes read, in hex digits."""
        if self._plain is not None:
            return self._plain.hexdigest()
        return (self._link or hashlib.sha256().digest()).hex()


def content_hash(name: FileName, data: Source) -> str:
    """The hash of a whole file of any kind, in hex digits."""
    found = ContentHash(name)
    for _ in found.passing(blocks(data)):
        continue
    return found.digest


def hash_chain(data: Source, *, start: int = 0, link: str = "") -> HashChain:
    """The chain of a file whose bytes from `start` on are `data`. link: the hash of the bytes
    before `start`, in hex digits."""
    links = [bytes.fromhex(link)]
    for block in blocks(data):
        links.extend(_links(links[-1], block))
    if not links[-1]:
        links.append(hashlib.sha256().digest())
    return HashChain(start, tuple(links))


def _links(link: bytes, block: memoryview) -> Iterator[bytes]:
    for position in range(0, len(block), CHUNK_BYTES):
        link = hashlib.sha256(link + block[position : position + CHUNK_BYTES]).digest()
        yield link
