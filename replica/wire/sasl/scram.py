"""SCRAM's arithmetic and messages (RFC 5802, RFC 7677), without channel binding, as in Kafka.

Names and passwords are used as they are, in UTF-8, as in Kafka's ScramFormatter.normalize. The RFC
asks for SASLprep, which libraries such as scramp apply. SASLprep changes passwords with a soft
hyphen or a wide letter, and Kafka would refuse the changed password. Therefore no such library is
used here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from replica.errors import CorruptDataError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384
"""The most iterations that Kafka allows (ScramMechanism; AlterUserScramCredentials refuses
more)."""
MOST_FOR_CLIENTS = 100_000
"""The most iterations that a client accepts from a server. This number is above Kafka's bound, for
credentials of older releases. So many iterations take a client about 0.1 s, during which the client
does nothing else."""

_NO_BINDING = "n,,"
_BINDING = base64.b64encode(_NO_BINDING.encode()).decode()
_MAX_TOKEN = 16 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server stores instead of a password. The server can check a password with the
    credential, but nobody can log in with the credential."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def credential(hash_name: str, password: str, salt: bytes, iterations: int) -> Credential:
    """The credential of a password. hash_name: hashlib's name of the hash."""
    return _keys(hash_name, password, salt, iterations)[1]


def client_proof(
    hash_name: str, password: str, salt: bytes, iterations: int, said: bytes
) -> tuple[bytes, bytes]:
    """The client's proof, and the signature with which the server has to answer. said: AuthMessage
    of RFC 5802."""
    client_key, kept = _keys(hash_name, password, salt, iterations)
    proof = _xor(client_key, _hmac(hash_name, kept.stored_key, said))
    return proof, server_signature(hash_name, kept, said)


def _keys(hash_name: str, password: str, salt: bytes, iterations: int) -> tuple[bytes, Credential]:
    """The client's key, and the credential that a server stores."""
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode("utf-8"), salt, iterations)
    client_key = _hmac(hash_name, salted, b"Client Key")
    stored = hashlib.new(hash_name, client_key).digest()
    return client_key, Credential(salt, iterations, stored, _hmac(hash_name, salted, b"Server Key"))


def is_proven(hash_name: str, kept: Credential, proof: bytes, said: bytes) -> bool:
    """Whether the client that sent `proof` knows the password. said: AuthMessage of RFC 5802."""
    signature = _hmac(hash_name, kept.stored_key, said)
    if len(proof) != len(signature):
        return False
    client_key = _xor(proof, signature)
    return hmac.compare_digest(hashlib.new(hash_name, client_key).digest(), kept.stored_key)


def server_signature(hash_name: str, kept: Credential, said: bytes) -> bytes:
    """The signature by which the server proves that the server knows the credential. said:
    AuthMessage of RFC 5802."""
    return _hmac(hash_name, kept.server_key, said)


def client_first(user: str, nonce: str) -> str:
    """The client-first-message-bare, without the prefix for channel binding."""
    return f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"


def with_prefix(first: str) -> bytes:
    """The client's first token (RFC 5802: client-first-message): the header that asks for no
    channel binding, then the client-first-message-bare `first`."""
    return f"{_NO_BINDING}{first}".encode()


def without_prefix(token: bytes) -> str:
    """The client-first-message-bare in the client's first token. Raises CorruptDataError for any
    other token."""
    said = text_of(token)
    if not said.startswith(_NO_BINDING):
        raise CorruptDataError("SCRAM: channel binding or an authorization id is not supported", 0)
    return said.removeprefix(_NO_BINDING)


def client_final(nonce: str) -> str:
    """The client-final-message-without-proof."""
    return f"c={_BINDING},r={nonce}"


def user_of(first: str) -> str:
    """The user named in client-first-message-bare. Raises CorruptDataError for another text."""
    return attributes(first, "nr")["n"].replace("=2C", ",").replace("=3D", "=")


def attributes(said: str, wanted: str) -> dict[str, str]:
    """The values of the attributes at the beginning of a message, by their letters. Extensions
    after these attributes are skipped. Raises CorruptDataError if an attribute is missing.

    said: a message, such as `r=...,s=...,i=4096`. wanted: the letters of the attributes in their
        order, such as `rsi`.
    """
    parts = said.split(",")
    if len(parts) < len(wanted) or any(
        not part.startswith(f"{name}=") for name, part in zip(wanted, parts, strict=False)
    ):
        raise CorruptDataError(f"SCRAM: a message lacks {', '.join(wanted)}", 0)
    return {name: part[2:] for name, part in zip(wanted, parts, strict=False)}


def bytes_of(text: str) -> bytes:
    """The bytes of a base64 text. Raises CorruptDataError for other text."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptDataError("SCRAM: a value is not base64", 0) from error


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def text_of(token: bytes) -> str:
    """The text of a token. Raises CorruptDataError for bytes that aren't UTF-8, and for a token of
    more than _MAX_TOKEN bytes."""
    if len(token) > _MAX_TOKEN:
        raise CorruptDataError(f"SASL: a token of {len(token)} bytes", 0)
    try:
        return token.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptDataError("SASL: a token is not UTF-8", 0) from error


def _hmac(hash_name: str, key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hash_name).digest()


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
