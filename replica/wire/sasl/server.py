"""The server's side of SASL: SaslHandshake, then SaslAuthenticate until the client is known."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from replica.errors import CorruptDataError, DataError, KraftlakeError
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.sasl import SASL_HANDSHAKE
from replica.wire.header import WireRequest
from replica.wire.sasl import scram
from replica.wire.schema import Message


class RefusedError(KraftlakeError):
    """A wrong password or an unknown user. The client doesn't learn which of the two."""


class ServerExchange(ABC):
    """The server's side of one authentication."""

    user: str | None = None
    """The client's name after authentication; None before the authentication is complete."""
    claimed: str = ""
    """The name that the client claims; empty before the client names itself."""

    @abstractmethod
    def next(self, token: bytes) -> bytes:
        """The answer to a token. Raises RefusedError for a wrong password or an unknown user, and
        DataError for a malformed token."""


_NO_USERS = secrets.token_bytes(32)

Authenticator = Mapping[str, Callable[[], ServerExchange]]
"""For each mechanism, a function that starts an exchange: a PlainExchange or a ScramExchange."""


class PlainExchange(ServerExchange):
    """PLAIN (RFC 4616). passwords: the passwords by user."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def next(self, token: bytes) -> bytes:
        parts = scram.text_of(token).split("\0")
        if len(parts) != 3 or not parts[1]:
            raise CorruptDataError("PLAIN: expected a user and a password between zero bytes", 0)
        acting_for, user, password = parts
        self.claimed = user
        # hashes are compared, so that the time of the comparison reveals neither length nor content
        kept = hashlib.sha256(self._passwords.get(user, secrets.token_hex()).encode()).digest()
        given = hashlib.sha256(password.encode()).digest()
        if not hmac.compare_digest(kept, given) or acting_for not in ("", user):
            raise RefusedError("wrong user or password")
        self.user = user
        return b""


class ScramExchange(ServerExchange):
    """SCRAM (RFC 5802).

    mechanism: a key of scram.HASHES.
    credentials: the credentials by user. An unknown user gets the same answers as a known user,
        until the proof is refused.
    """

    def __init__(self, mechanism: str, credentials: Mapping[str, scram.Credential]) -> None:
        self._hash = scram.HASHES[mechanism]
        self._credentials = credentials
        self._said = ""
        self._nonce = ""

    def next(self, token: bytes) -> bytes:
        return self._finish(scram.text_of(token)) if self._nonce else self._begin(token)

    def _begin(self, token: bytes) -> bytes:
        first = scram.without_prefix(token)
        self.claimed = scram.user_of(first)
        self._nonce = scram.attributes(first, "nr")["r"] + secrets.token_urlsafe(24)
        kept = self._kept()
        salt = scram.base64_of(kept.salt)
        answer = f"r={self._nonce},s={salt},i={kept.iterations}"
        self._said = f"{first},{answer}"
        return answer.encode()

    def _finish(self, said: str) -> bytes:
        final, _, proof = said.rpartition(",p=")
        if final != scram.client_final(self._nonce):
            raise CorruptDataError("SCRAM: a message that belongs to no exchange", 0)
        kept, heard = self._kept(), f"{self._said},{final}".encode()
        is_proven = scram.is_proven(self._hash, kept, scram.bytes_of(proof), heard)
        if not is_proven or self.claimed not in self._credentials:
            raise RefusedError("wrong user or password")
        self.user = self.claimed
        signature = scram.server_signature(self._hash, kept, heard)
        return f"v={scram.base64_of(signature)}".encode()

    def _kept(self) -> scram.Credential:
        """The user's credential. An unknown user gets a credential that matches no password. The
        salt of this credential is the same on each node and after a restart, like the salt of a
        known user."""
        model = next(iter(self._credentials.values()), None)
        secret = _NO_USERS if model is None else model.server_key
        salt = hmac.digest(secret, f"salt of nobody: {self.claimed}".encode(), "sha512")
        unknown = scram.Credential(
            salt[: 16 if model is None else len(model.salt)],
            scram.MIN_ITERATIONS if model is None else model.iterations,
            secrets.token_bytes(len(hashlib.new(self._hash).digest())),
            b"",
        )
        return self._credentials.get(self.claimed, unknown)


class SaslServer:
    """Authenticates one connection.

    principal: the user, once authentication is complete.
    claimed: the name that the client claims.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._exchange: ServerExchange | None = None
        self.principal: str | None = None

    @property
    def claimed(self) -> str:
        return "" if self._exchange is None else self._exchange.claimed

    @staticmethod
    def answer_of(sasl: SaslServer | None, request: WireRequest) -> tuple[Message, bool]:
        """The answer to SaslHandshake or SaslAuthenticate, and whether the connection ends after
        the answer. sasl: None if no authentication is due."""
        if sasl is None:
            return {"errorCode": int(ErrorCode.ILLEGAL_SASL_STATE)}, True
        if request.api is SASL_HANDSHAKE:
            return sasl._handshake(request)
        return sasl._authenticate(request.message["authBytes"])

    def _handshake(self, request: WireRequest) -> tuple[Message, bool]:
        start = self._authenticator.get(request.message["mechanism"])
        names = sorted(self._authenticator)
        if self._exchange is not None or request.version == 0:
            # version 0 continues with tokens without requests, which no present client sends
            code = ErrorCode.ILLEGAL_SASL_STATE
        elif start is None:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        else:
            self._exchange = start()
            return {"mechanisms": names}, False
        return {"errorCode": int(code), "mechanisms": names}, True

    def _authenticate(self, token: bytes) -> tuple[Message, bool]:
        if self._exchange is None:
            return {"errorCode": int(ErrorCode.ILLEGAL_SASL_STATE)}, True
        try:
            answer = self._exchange.next(token)
        except (RefusedError, DataError) as error:
            code = int(ErrorCode.SASL_AUTHENTICATION_FAILED)
            return {"errorCode": code, "errorMessage": str(error)}, True
        self.principal = self._exchange.user
        return {"authBytes": answer}, False
