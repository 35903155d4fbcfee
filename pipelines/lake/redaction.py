"""The key of a lake's fingerprints. It is made once and is in no table. With the same key a second
run gives the same fingerprints."""

from __future__ import annotations

import os
import secrets
import uuid
from dataclasses import dataclass
from pathlib import Path

from pipelines.capture.private import new_file
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.metadata.redact import Redactor

FILE_NAME = "_redaction.key"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Redaction:
    """How a lake hides secrets."""

    key_file: str
    """The file of the lake's key, or a copy of it."""
    shown_configs: frozenset[str] = frozenset()
    """The names of configs that Kafka doesn't know, whose values the user wants to see
    (replica.metadata.redact)."""
    keeps_crcs: bool = False
    """Whether batches that hold secrets keep their CRCs."""


def redactor_of(redaction: Redaction | None) -> Redactor | None:
    """The redactor. None where secrets are kept. Raises OSError."""
    if redaction is None:
        return None
    key = Path(redaction.key_file).read_bytes()
    return Redactor(key, redaction.shown_configs, keeps_crcs=redaction.keeps_crcs)


def lake_key(lake: Lake) -> bytes:
    """The lake's key, or a new one that isn't written yet. Raises UsageError where the key's file
    is empty."""
    key = lake.read(FILE_NAME)
    if key is None:
        return secrets.token_bytes(_KEY_BYTES)
    if not key:
        place = f"{lake}/{FILE_NAME}" if lake.is_remote else Path(lake.folder, FILE_NAME)
        raise UsageError(
            f"{place}: empty: restore it from a copy of the lake, or ingest the captures into a "
            "new lake"
        )
    return key


def lake_key_file(lake: Lake, key: bytes, copies: Path | None = None) -> str:
    """The absolute path of the lake's key file, or of a copy of a key that lies in an object store.
    The file is made where it is absent, and only its owner may read it. The path is absolute
    because Spark's workers may have another working directory.

    key: the result of lake_key. copies: the folder for the copy; None for a local lake. Two
    processes that make a key at once may not agree, so the caller must hold the lake's lock.
    """
    if lake.is_remote:
        assert copies is not None, "a key in an object store has no path"
        path = copies / FILE_NAME
        _write_new(path, key)
        if lake.read(FILE_NAME) is None:
            lake.write(FILE_NAME, key)
        return str(path)
    path = Path(lake.folder, FILE_NAME).absolute()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _create(path, key)
    return str(path)


def keep_to_owner(lake: Lake) -> bool:
    """Lets only the owner read the folder of a lake that will hold secrets. Returns whether other
    users could read it before. In an object store the bucket's own policy decides.

    Raises UsageError where the folder belongs to another user.
    """
    if lake.is_remote:
        return False
    folder = lake.folder
    if not folder.stat().st_mode & 0o077:
        return False
    try:
        folder.chmod(0o700)
    except OSError as error:
        raise UsageError(
            f"{folder}: others may read it, and --keep-secrets would show them secrets: its owner "
            "must run `chmod 700` on it first"
        ) from error
    return True


def _create(path: Path, key: bytes) -> None:
    """Write the key atomically. Of several processes that do so at once, the first one wins."""
    draft = path.with_name(f"{FILE_NAME}.{uuid.uuid4().hex}")
    try:
        _write_new(draft, key)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _write_new(path: Path, key: bytes) -> None:
    with new_file(path) as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
