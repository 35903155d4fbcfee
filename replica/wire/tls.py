"""TLS contexts from PEM files (Kafka: ssl.keystore.type=PEM), and names in certificates."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replica.errors import UsageError, reading

_SHORT = {
    **{"commonName": "CN", "organizationalUnitName": "OU", "organizationName": "O"},
    **{"localityName": "L", "stateOrProvinceName": "ST", "countryName": "C"},
    **{"streetAddress": "STREET", "domainComponent": "DC", "userId": "UID"},
}
_ESCAPED = frozenset(',+"\\<>;')


VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The versions of TLS by Kafka's names in ssl.enabled.protocols."""
CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
"""How a server asks for clients' certificates, by Kafka's values of ssl.client.auth. With
`requested`, a client may send no certificate, but a bad certificate is refused."""


@dataclass(frozen=True, slots=True)
class PemText:
    """The text of a PEM file."""

    name: str
    """The name of the text in errors."""
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """Paths of PEM files, or their text. A server needs a certificate, and authorities if the
    server asks for clients' certificates. A client needs a certificate only if servers ask for
    one."""

    certificate: str | PemText | None = None
    """This node's certificate, with its chain and its private key; None for no certificate."""
    authorities: str | PemText | None = None
    """The trusted certificates. A client without them (None) trusts the system's certificates."""
    password: str | None = field(default=None, repr=False)
    """The password of the private key; None if the key isn't encrypted."""
    versions: tuple[str, ...] = tuple(VERSIONS)
    """The allowed versions of TLS: names in VERSIONS, without a gap."""

    @property
    def key_file(self) -> str | None:
        """The path of the file with the private key; None if there is no private key, or the key is
        given as text."""
        return None if isinstance(self.certificate, PemText) else self.certificate


def server_context(tls: Tls, client_auth: str = "none") -> ssl.SSLContext:
    """The TLS context of a listener. client_auth: a key of CLIENT_AUTH; "required" is mTLS.

    Raises UsageError, which names the file or the missing key, if the certificates or settings
    can't be used, and UnreadableFileError for a file that can't be read.
    """
    if tls.certificate is None:
        raise UsageError("a TLS listener needs a certificate: set ssl.keystore.location")
    if client_auth != "none" and tls.authorities is None:
        raise UsageError(f"ssl.client.auth={client_auth} needs ssl.truststore.location")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(context, tls)
    context.verify_mode = CLIENT_AUTH[client_auth]
    return context


def client_context(tls: Tls, *, check_host_name: bool = True) -> ssl.SSLContext:
    """The TLS context of this process as a client. check_host_name: False for an empty
    ssl.endpoint.identification.algorithm.

    Raises UsageError, which names the file, if the certificates can't be used, and
    UnreadableFileError for a file that can't be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_host_name
    _load(context, tls)
    if tls.authorities is None:
        context.load_default_certs()
    return context


def distinguished_name(certificate: dict[str, Any]) -> str:
    """The subject of a certificate in the form of Kafka's principals (RFC 2253: the last part
    first); "" for no subject.

    certificate: the value of SSLSocket.getpeercert.
    """
    parts = [
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in names)
        for names in certificate.get("subject", ())
    ]
    return ",".join(reversed(parts))


def _load(context: ssl.SSLContext, tls: Tls) -> None:
    numbers = [VERSIONS[name] for name in tls.versions]
    context.minimum_version, context.maximum_version = min(numbers), max(numbers)
    for path in (tls.certificate, tls.authorities):
        if isinstance(path, str):
            _check_readable(path)
    if tls.certificate is not None:
        _load_certificate(context, tls, tls.certificate)
    if tls.authorities is not None:
        _load_authorities(context, tls.authorities)


def _load_certificate(context: ssl.SSLContext, tls: Tls, certificate: str | PemText) -> None:
    try:
        with _as_file(certificate) as path:
            # with a function instead of the password, openssl never asks for a password on the
            # terminal
            context.load_cert_chain(path, None, lambda: tls.password or "")
    except (ssl.SSLError, ValueError) as error:
        reason = "no PEM file with this certificate's key, or its password is wrong"
        raise UsageError(f"{_name(certificate)}: {reason}") from error


def _load_authorities(context: ssl.SSLContext, authorities: str | PemText) -> None:
    try:
        if isinstance(authorities, PemText):
            context.load_verify_locations(cadata=authorities.text)
        else:
            context.load_verify_locations(authorities)
    except (ssl.SSLError, TypeError) as error:  # text that isn't ASCII raises TypeError
        raise UsageError(f"{_name(authorities)}: no PEM file with certificates") from error


@contextmanager
def _as_file(pem: str | PemText) -> Iterator[str]:
    """A path from which openssl reads the text. Text with a private key stays in memory and is
    never written to a disk."""
    if isinstance(pem, str):
        yield pem
        return
    if not hasattr(os, "memfd_create"):
        raise UsageError(f"{pem.name}: only on Linux; name a file by ssl.keystore.location")
    with open(os.memfd_create("pem"), "w", encoding="ascii", errors="replace") as file:
        file.write(pem.text)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _name(pem: str | PemText) -> str:
    return pem.name if isinstance(pem, PemText) else pem


def _check_readable(path: str) -> None:
    with reading(path), Path(path).open("rb"):
        pass


def _escaped(value: str) -> str:
    """The text with a backslash before each special character of RFC 2253, and before spaces at
    both ends."""
    text = "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
    if text.startswith((" ", "#")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if text.endswith(" ") and len(value) > 1 else text
