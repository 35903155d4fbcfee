"""The hash of a log segment's content, which goes on where the file did.

A segment only grows at its end, so its hash is a chain over chunks of CHUNK_BYTES: the hash of the
first chunk, then of (hash so far, next chunk) for each one behind it. It depends on the bytes
alone, not on how often the file was looked at, and equals SHA-256 for a file of one chunk.
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
    """start: a byte of the file, a multiple of CHUNK_BYTES. links: the hash of all before `start`
    (b"" at 0), then that after each chunk; the last one is of the whole file."""

    start: int
    links: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """Of the whole file, as hex digits."""
        return self.links[-1].hex()

    def before(self, position: int) -> tuple[int, str]:
        """(the chunk border at or before `position`, the hash up to there as hex digits): from
        where a reader that knows what lies before `position` goes on. position: not below start.
        """
        number = position // CHUNK_BYTES
        return number * CHUNK_BYTES, self.links[number - self.start // CHUNK_BYTES].hex()


class ContentHash:
    """Of a file of any kind, as its bytes go by: SHA-256 for all but segments.

    size: how many went by.
    """

    def __init__(self, name: FileName) -> None:
        self.size = 0
        self._plain = None if name.kind is FileKind.SEGMENT else hashlib.sha256()
        self._link = b""

    def passing(self, found: Iterable[memoryview]) -> Iterator[memoryview]:
        """The blocks, which hold whole chunks but for the last one."""
        for block in found:
            self.size += len(block)
            if self._plain is None:
                *_, self._link = self._link, *_links(self._link, block)
            else:
                self._plain.update(block)
            yield block

    @property
    def digest(self) -> str:
        """As hex digits, of all that went by."""
        if self._plain is not None:
            return self._plain.hexdigest()
        return (self._link or hashlib.sha256().digest()).hex()


def content_hash(name: FileName, data: Source) -> str:
    """Of a whole file of any kind, as hex digits."""
    found = ContentHash(name)
    for _ in found.passing(blocks(data)):
        continue
    return found.digest


def hash_chain(data: Source, *, start: int = 0, link: str = "") -> HashChain:
    """Of a file whose bytes from `start` on are `data`; link: the hash of those before, in hex."""
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
