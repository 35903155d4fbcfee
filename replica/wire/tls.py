"""TLS contexts from PEM files (Kafka: ssl.keystore.type=PEM), and names in certificates."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replica.errors import UnreadableFileError, UsageError

_SHORT = {
    **{"commonName": "CN", "organizationalUnitName": "OU", "organizationName": "O"},
    **{"localityName": "L", "stateOrProvinceName": "ST", "countryName": "C"},
    **{"streetAddress": "STREET", "domainComponent": "DC", "userId": "UID"},
}
_ESCAPED = frozenset(',+"\\<>;')


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files. certificate: of this node with its chain, key: its private key (None: in the same
    file), authorities: of the certificates to trust. Server: none of those None but the key.
    Client: no certificate where servers don't ask for one; no authorities for those of the system.
    """

    certificate: str | None = None
    key: str | None = None
    authorities: str | None = None
    password: str | None = None


def server_context(tls: Tls, *, client_must_authenticate: bool) -> ssl.SSLContext:
    """For a listener; the second is ssl.client.auth=required (mTLS). TLS 1.2 and newer.

    Raises UsageError and UnreadableFileError, naming the file.
    """
    if tls.certificate is None:
        raise UsageError("a TLS listener needs a certificate: set ssl.keystore.location")
    if client_must_authenticate and tls.authorities is None:
        raise UsageError("ssl.client.auth=required needs ssl.truststore.location")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(context, tls)
    if client_must_authenticate:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(tls: Tls, *, check_host_name: bool = True) -> ssl.SSLContext:
    """For connections; check_host_name=False is ssl.endpoint.identification.algorithm= (none).

    Raises UsageError and UnreadableFileError, naming the file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_host_name
    _load(context, tls)
    if tls.authorities is None:
        context.load_default_certs()
    return context


def distinguished_name(certificate: dict[str, Any]) -> str:
    """The subject as Kafka's principals have it (RFC 2253: the last part first); "" for none.

    certificate: as SSLSocket.getpeercert gives it.
    """
    parts = [
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in names)
        for names in certificate.get("subject", ())
    ]
    return ",".join(reversed(parts))


def _load(context: ssl.SSLContext, tls: Tls) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for path in (tls.certificate, tls.key, tls.authorities):
        _check_readable(path)
    try:
        if tls.certificate is not None:
            # a function: without a password openssl must not ask the terminal for one
            context.load_cert_chain(tls.certificate, tls.key, lambda: tls.password or "")
    except (ssl.SSLError, ValueError) as error:
        path = tls.key or tls.certificate
        reason = "no PEM file with this certificate's key, or its password is wrong"
        raise UsageError(f"{path}: {reason}") from error
    try:
        if tls.authorities is not None:
            context.load_verify_locations(tls.authorities)
    except ssl.SSLError as error:
        raise UsageError(f"{tls.authorities}: no PEM file with certificates") from error


def _check_readable(path: str | None) -> None:
    if path is None:
        return
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error


def _escaped(value: str) -> str:
    """With a backslash before what has a meaning in a name, and around its spaces."""
    text = "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
    if text.startswith((" ", "#")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if text.endswith(" ") and len(value) > 1 else text
