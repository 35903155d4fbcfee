"""The client's side of SASL: the client's name and password, or a proof that the client knows the
password."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from replica.errors import CorruptDataError
from replica.wire.sasl import scram

Exchange: TypeAlias = Generator[bytes, bytes, None]
"""The client's side of one authentication. The generator yields each token of the client, gets the
server's answer to that token by `send`, and ends after the last answer. The generator raises
DataError if an answer is malformed, or if the server doesn't prove that the server knows the
password too."""


@dataclass(frozen=True, slots=True)
class Plain:
    """PLAIN (RFC 4616). The client sends the password in plain text: use PLAIN over TLS or in a
    private network."""

    user: str
    password: str = field(repr=False)
    name: str = "PLAIN"

    def start(self) -> Exchange:
        yield f"\0{self.user}\0{self.password}".encode()


@dataclass(frozen=True, slots=True)
class Scram:
    """SCRAM (RFC 5802). The client proves that it knows the password, and never sends it."""

    user: str
    password: str = field(repr=False)
    name: str = "SCRAM-SHA-512"
    """The name of the mechanism, a key of scram.HASHES."""

    def start(self) -> Exchange:
        own_nonce = secrets.token_urlsafe(24)
        first = scram.client_first(self.user, own_nonce)
        server_first = scram.text_of((yield scram.with_prefix(first)))
        nonce, salt, iterations = _challenge(server_first, own_nonce)
        final = scram.client_final(nonce)
        heard = f"{first},{server_first},{final}".encode()
        proof, expected = scram.client_proof(
            scram.HASHES[self.name], self.password, salt, iterations, heard
        )
        server_final = scram.text_of((yield f"{final},p={scram.base64_of(proof)}".encode()))
        signature = scram.bytes_of(scram.attributes(server_final, "v")["v"])
        if not hmac.compare_digest(signature, expected):
            raise CorruptDataError("SCRAM: the server doesn't know this user's password", 0)


Mechanism: TypeAlias = Plain | Scram
"""How a client authenticates.

name: the mechanism's name in Kafka's sasl.mechanism.
start: begins the exchange of one connection.
"""


def _challenge(server_first: str, own_nonce: str) -> tuple[str, bytes, int]:
    """(nonce, salt, iterations) in the server's first message. Raises CorruptDataError for a
    message that this client must not answer."""
    found = scram.attributes(server_first, "rsi")
    salt, count = scram.bytes_of(found["s"]), found["i"]
    if not found["r"].startswith(own_nonce) or found["r"] == own_nonce:
        raise CorruptDataError("SCRAM: the server's answer is for another client", 0)
    if not (count.isascii() and count.isdigit() and len(count) < 8):
        raise CorruptDataError("SCRAM: the server gives no number of iterations", 0)
    if int(count) < scram.MIN_ITERATIONS:
        raise CorruptDataError(f"SCRAM: {count} iterations are too few to trust", 0)
    if int(count) > scram.MOST_FOR_CLIENTS:
        most = f"at most {scram.MOST_FOR_CLIENTS} are computed"
        raise CorruptDataError(f"SCRAM: {count} iterations are too many, {most}", 0)
    return found["r"], salt, int(count)
