"""The hash of a log segment's content, which goes on where the file did.

A segment only grows at its end, so its hash is a chain over chunks of CHUNK_BYTES: the hash of the
first chunk, then of (hash so far, next chunk) for each one behind it. It depends on the bytes
alone, not on how often the file was looked at, and equals SHA-256 for a file of one chunk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from replica.format.file_names import FileKind, FileName
from replica.message.primitives import Buffer

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


def content_hash(name: FileName, data: Buffer) -> str:
    """Of a whole file of any kind, as hex digits; SHA-256 for all but segments."""
    if name.kind is FileKind.SEGMENT:
        return hash_chain(data).digest
    return hashlib.sha256(data).hexdigest()


def hash_chain(data: Buffer, *, start: int = 0, link: str = "") -> HashChain:
    """Of a file whose bytes from `start` on are `data`; link: the hash of those before, in hex."""
    view = memoryview(data)
    links = [bytes.fromhex(link)]
    for position in range(0, max(1, len(view)), CHUNK_BYTES):
        chunk = view[position : position + CHUNK_BYTES]
        if chunk or not links[-1]:
            links.append(hashlib.sha256(links[-1] + chunk).digest())
    return HashChain(start, tuple(links))
