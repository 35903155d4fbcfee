"""The ssl. keys of a properties file (Kafka: SslConfigs). Only key stores of the type PEM are
supported."""

from __future__ import annotations

import re

from replica.node.properties import Properties
from replica.wire.tls import VERSIONS, PemText, Tls

_TYPES = ("PEM", "JKS", "PKCS12")
_LINE = 64
# This pattern doesn't match blocks with headers (old encrypted keys), whose lines have a colon: the
# line ends of these blocks are significant.
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----\s*")


def tls_in(properties: Properties) -> Tls:
    """The TLS settings. This function opens no file. Raises UsageError, which names file and key
    and never quotes a secret value."""
    return Tls(
        certificate=_store(properties, "keystore", "key", "certificate.chain"),
        authorities=_store(properties, "truststore", "certificates"),
        password=properties.given("ssl.key.password"),
        versions=_versions(properties),
    )


def checks_host_name(properties: Properties) -> bool:
    """Whether to check the host's name. True if ssl.endpoint.identification.algorithm is https or
    missing, and False if this key is empty. Raises UsageError for any other value."""
    key = "ssl.endpoint.identification.algorithm"
    found = properties.given(key)
    if found is not None and found.lower() not in ("", "https"):
        raise properties.error(key, f"{found!r}: expected https, or an empty value for no check")
    return found != ""


def _store(properties: Properties, store: str, *texts: str) -> str | PemText | None:
    """The path of a store's file, or the PEM text in the properties file; None if neither is given.
    texts: the ends of the keys that hold the PEM text, such as `key`: all of them or none are set.
    """
    location = properties.text(f"ssl.{store}.location")
    given = {key: properties.text(key) for key in (f"ssl.{store}.{text}" for text in texts)}
    there = [key for key, text in given.items() if text]
    _check_type(properties, store, location, is_given=bool(location or there))
    if location and there:
        raise properties.error(there[-1], f"ssl.{store}.location is there too")
    for key, text in given.items():
        if there and not text:
            raise properties.error(key, "missing; the two go together")
    if there:
        pem = "".join(f"{text}\n" for text in given.values())
        return PemText(f"{properties.path}: {there[-1]}", _in_lines(pem))
    return location or None


def _in_lines(text: str) -> str:
    """The PEM text with the line ends that openssl needs. In a properties file PEM text is often
    one line, which Kafka accepts."""

    def block(match: re.Match[str]) -> str:
        body = "".join(match[2].split())
        lines = [body[at : at + _LINE] for at in range(0, len(body), _LINE)]
        return "\n".join((f"-----BEGIN {match[1]}-----", *lines, f"-----END {match[1]}-----", ""))

    return _BLOCK.sub(block, text)


def _check_type(properties: Properties, store: str, location: str, *, is_given: bool) -> None:
    key = f"ssl.{store}.type"
    found = properties.text(key, "JKS").upper()
    if found not in _TYPES:
        raise properties.error(key, f"{found!r}: expected PEM")
    if not is_given:
        return
    if found != "PEM":
        raise properties.error(key, _conversion(store, location or "FILE", found))
    password = f"ssl.{store}.password"
    if properties.given(password) is not None:
        raise properties.error(
            password, "PEM files have no password; that of a key is ssl.key.password"
        )


def _conversion(store: str, location: str, kind: str) -> str:
    """The part of an error that names the command which converts a key store to PEM. A key store
    without a type is JKS, as in Kafka."""
    name = f"{location}.p12" if kind == "JKS" else location
    to_pem = f"openssl pkcs12 -in {name} {'-nokeys ' * (store == 'truststore')}-out {location}.pem"
    if kind == "JKS":
        to_pkcs12 = f"keytool -importkeystore -srckeystore {location} -destkeystore {name}"
        to_pem = f"{to_pkcs12} -deststoretype PKCS12 && {to_pem}"
    return f"{kind}, and only PEM is read: set it to PEM, and convert a file that isn't: {to_pem}"


def _versions(properties: Properties) -> tuple[str, ...]:
    key = "ssl.enabled.protocols"
    names = properties.names(key) or tuple(VERSIONS)
    for name in names:
        if name not in VERSIONS:
            raise properties.error(key, f"{name!r}: expected {' or '.join(VERSIONS)}")
    return names
