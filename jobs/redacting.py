"""Whether a command shows secrets, and by which key it fingerprints them."""

from __future__ import annotations

import os

from replica.errors import UsageError
from replica.metadata.redact import Redactor

MAX_KEY_BYTES = 64 * 1024


def make_redactor(keep_secrets: bool, key_file: str | None) -> Redactor | None:
    """The redactor that the options ask for; a random key where none is given."""
    if keep_secrets:
        if key_file is not None:
            raise UsageError("--keep-secrets and --redact-key exclude each other: drop one")
        return None
    if key_file is None:
        return Redactor(os.urandom(32))
    try:
        with open(key_file, "rb") as file:
            key = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise UsageError(f"--redact-key {key_file}: {error.strerror or error}") from error
    if not key:
        raise UsageError(f"--redact-key {key_file}: the file is empty, it needs random bytes")
    return Redactor(key)
