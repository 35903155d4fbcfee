"""Finds the kind of a file of keys or certificates from its bytes, without a password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from replica.errors import UnreadableFileError
from replica.format.reading import MAX_STATE_BYTES, read_file

_JKS, _JCEKS, _DER = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"\x30"
_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_CERTIFICATE = re.compile(rb"-----BEGIN [A-Z ]*CERTIFICATE-----")


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file of keys or certificates. reason: why it can't be read; "" if it can."""

    reason: str = ""
    is_key_store: bool = False
    """Whether the file begins like a JKS, JCEKS or PKCS12 key store."""
    has_pem_key: bool = False
    has_pem_certificate: bool = False


def read_store(path: str) -> StoreFile:
    """The kind of the file at this path."""
    if "\0" in path:
        return StoreFile("its name has a zero byte")
    if not os.path.lexists(path):
        return StoreFile("no such file")
    try:
        content = read_file(path, MAX_STATE_BYTES)
    except UnreadableFileError as error:
        return StoreFile(error.reason)
    return StoreFile(
        is_key_store=content.startswith((_JKS, _JCEKS, _DER)),
        has_pem_key=_KEY.search(content) is not None,
        has_pem_certificate=_CERTIFICATE.search(content) is not None,
    )
