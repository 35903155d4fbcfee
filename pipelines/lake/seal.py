"""Hashes of files in the form in which a lake shows them. Without the lake's key nobody can check a
guess of a file's content by them.

A lake shows everything of a file except its secrets. With a plain hash, anybody could guess the
secrets, compute the file's hash and compare. Sealed hashes are equal where the hashes are equal.
With the key a hash is opened again, because an ingest continues from the hash of bytes that it
doesn't read again (replica.format.content_hash).

The form is a synthetic initialization vector: 16 bytes of HMAC-SHA256 over the hash, and then the
hash, exclusive-ored with an HMAC-SHA256 over those 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replica.metadata.redact import keyed_digest

_TAG_BYTES = 16
_HASH_BYTES = 32
_SEALED_DIGITS = 2 * (_TAG_BYTES + _HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals the hashes of files for a lake, and opens them again."""

    key: bytes | None = field(default=None, repr=False)
    """The key of the seal; None where the lake keeps hashes as they are."""

    def close(self, digest: str) -> str:
        """The form of a hash that a lake keeps. digest: at most 64 hex digits; "" stays ""."""
        if self.key is None or not digest:
            return digest
        raw = bytes.fromhex(digest)
        assert len(raw) <= _HASH_BYTES, "a longer hash would show behind the pad"
        tag = self._tag(self.key, raw)
        return (tag + _xor(raw, self._pad(self.key, tag))).hex()

    def open(self, text: str) -> str | None:
        """The hash; None where another key, or no key, has sealed it. A Seal without a key gives
        the text as it is."""
        if self.key is None or not text:
            return text
        sealed = bytes.fromhex(text)
        tag = sealed[:_TAG_BYTES]
        raw = _xor(sealed[_TAG_BYTES:], self._pad(self.key, tag))
        return raw.hex() if tag == self._tag(self.key, raw) else None

    @staticmethod
    def _tag(key: bytes, raw: bytes) -> bytes:
        return keyed_digest(key, "seal of a hash", raw)[:_TAG_BYTES]

    @staticmethod
    def _pad(key: bytes, tag: bytes) -> bytes:
        return keyed_digest(key, "pad of a hash", tag)


OPEN = Seal()
"""The seal of a lake that keeps hashes as they are."""


def is_sealed(text: str) -> bool:
    """Whether a lake's hash of a file was sealed. An unsealed hash has 64 hex digits."""
    return len(text) == _SEALED_DIGITS


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))
