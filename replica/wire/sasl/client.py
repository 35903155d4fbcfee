"""The client's side of SASL: the client's name, and the proof of it."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from replica.errors import CorruptDataError
from replica.wire.sasl import scram


class Exchange(Protocol):
    """The client's side of one authentication."""

    def first(self) -> bytes:
        """The first token."""

    def next(self, challenge: bytes) -> bytes | None:
        """The answer to a server's token, None at the end. Raises DataError where the token is
        malformed, or the server doesn't prove that it knows the password too."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The password is sent as it is (RFC 4616): use it over TLS or within an own network."""

    user: str
    password: str = field(repr=False)
    name: str = "PLAIN"

    def start(self) -> Exchange:
        return _PlainExchange(f"\0{self.user}\0{self.password}".encode())


@dataclass(frozen=True, slots=True)
class _PlainExchange:
    token: bytes

    def first(self) -> bytes:
        return self.token

    def next(self, challenge: bytes) -> bytes | None:
        return None


@dataclass(frozen=True, slots=True)
class Scram:
    """name: a key of scram.HASHES."""

    user: str
    password: str = field(repr=False)
    name: str = "SCRAM-SHA-512"

    def start(self) -> Exchange:
        return _ScramExchange(self)


Mechanism: TypeAlias = Plain | Scram
"""How a client authenticates. name: as in Kafka's sasl.mechanism. start: begins the exchange of a
connection."""


class _ScramExchange:
    def __init__(self, scram_: Scram) -> None:
        self._password = scram_.password
        self._hash = scram.HASHES[scram_.name]
        self._nonce = secrets.token_urlsafe(24)
        self._first = scram.client_first(scram_.user, self._nonce)
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return scram.with_prefix(self._first)

    def next(self, challenge: bytes) -> bytes | None:
        said = scram.text_of(challenge)
        if self._signature is None:
            return self._prove(said)
        signature = scram.bytes_of(scram.attributes(said, "v")["v"])
        if not hmac.compare_digest(signature, self._signature):
            raise CorruptDataError("SCRAM: the server doesn't know this user's password", 0)
        return None

    def _prove(self, server_first: str) -> bytes:
        found = scram.attributes(server_first, "rsi")
        salt, count = scram.bytes_of(found["s"]), found["i"]
        if not found["r"].startswith(self._nonce) or found["r"] == self._nonce:
            raise CorruptDataError("SCRAM: the server's answer is for another client", 0)
        if not (count.isascii() and count.isdigit() and len(count) < 8):
            raise CorruptDataError("SCRAM: the server gives no number of iterations", 0)
        if int(count) < scram.MIN_ITERATIONS:
            raise CorruptDataError(f"SCRAM: {count} iterations are too few to trust", 0)
        if int(count) > scram.MOST_FOR_CLIENTS:
            most = f"at most {scram.MOST_FOR_CLIENTS} are computed"
            raise CorruptDataError(f"SCRAM: {count} iterations are too many, {most}", 0)
        final = scram.client_final(found["r"])
        heard = f"{self._first},{server_first},{final}".encode()
        proof, self._signature = scram.client_proof(
            self._hash, self._password, salt, int(count), heard
        )
        return f"{final},p={scram.base64_of(proof)}".encode()
