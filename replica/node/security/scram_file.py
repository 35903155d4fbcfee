"""The SCRAM credentials of the users who authenticate at this node: a text file with a line for
each user and mechanism. The file holds no password, so nobody can log in with its content.

A line is
{"name":"ann","mechanism":"SCRAM-SHA-512","iterations":8192,"salt":"...","storedKey":"...",
"serverKey":"..."}, where the last three values are base64. The fields are those of Kafka's
UserScramCredentialRecord. Blank lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replica.errors import UnreadableFileError, UsageError
from replica.wire.sasl import scram

_SALT_BYTES = 24

Credentials = Mapping[str, Mapping[str, scram.Credential]]
"""The credentials: mechanism -> user -> credential."""


def line_for(name: str, mechanism: str, password: str, iterations: int) -> str:
    """A line of the file, with a new salt. Raises UsageError for a name, a password or a number of
    iterations that the file can't hold."""
    if mechanism not in scram.HASHES:
        raise UsageError(f"mechanism {mechanism}: expected {' or '.join(scram.HASHES)}")
    if not scram.MIN_ITERATIONS <= iterations <= scram.MAX_ITERATIONS:
        most = f"{scram.MIN_ITERATIONS} and {scram.MAX_ITERATIONS}"
        raise UsageError(f"{iterations} iterations: expected a number between {most}")
    if not name or not password:
        raise UsageError("a user needs a name and a password")
    salt = secrets.token_bytes(_SALT_BYTES)
    kept = scram.credential(scram.HASHES[mechanism], password, salt, iterations)
    fields = {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": scram.base64_of(kept.salt),
        "storedKey": scram.base64_of(kept.stored_key),
        "serverKey": scram.base64_of(kept.server_key),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def read_credentials(path: str) -> Credentials:
    """The credentials in a file. Raises UnreadableFileError if the file can't be read. Raises
    UsageError, which names file and line and never quotes the line, for an invalid line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8") from error
    found: dict[str, dict[str, scram.Credential]] = {name: {} for name in scram.HASHES}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            name, mechanism, credential = _read(line)
        except ValueError as error:
            how = "`kraftlake replica scram` makes such lines"
            raise UsageError(f"{path}: line {number}: {error}; {how}") from error
        if name in found[mechanism]:
            raise UsageError(f"{path}: line {number}: a second {mechanism} of the same user")
        found[mechanism][name] = credential
    return found


def _read(line: str) -> tuple[str, str, scram.Credential]:
    """(user, mechanism, credential) of a line. Raises ValueError, whose text never quotes the line,
    for an invalid line."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not a JSON object") from None
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    name, mechanism, iterations = (fields.get(k) for k in ("name", "mechanism", "iterations"))
    if not isinstance(name, str) or not name:
        raise ValueError("name: missing")
    if mechanism not in scram.HASHES:
        raise ValueError(f"mechanism: expected {' or '.join(scram.HASHES)}")
    if type(iterations) is not int or iterations < scram.MIN_ITERATIONS:
        raise ValueError(f"iterations: expected a number from {scram.MIN_ITERATIONS} on")
    size = hashlib.new(scram.HASHES[mechanism]).digest_size
    keys = (_bytes(fields, "storedKey", size), _bytes(fields, "serverKey", size))
    return name, mechanism, scram.Credential(_bytes(fields, "salt"), iterations, *keys)


def _bytes(fields: dict[str, Any], key: str, size: int | None = None) -> bytes:
    try:
        found = base64.b64decode(fields.get(key, ""), validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueError(f"{key}: not base64") from None
    if not found or (size is not None and len(found) != size):
        raise ValueError(f"{key}: {size or 'some'} bytes are expected")
    return found
