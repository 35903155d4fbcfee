"""The key of a lake's fingerprints: made once, never in a table, so that re-runs agree."""

from __future__ import annotations

import os
import secrets
import uuid
from dataclasses import dataclass
from pathlib import Path

from pipelines import lake_files
from pipelines.lake_paths import is_remote, local_path
from replica.errors import UsageError
from replica.metadata.redact import Redactor

FILE_NAME = "_redaction.key"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Redaction:
    """How a lake hides secrets. key_file: its key's, or a copy of that. shown_configs: names of
    configs that Kafka doesn't know and the user does (replica.metadata.redact)."""

    key_file: str
    shown_configs: frozenset[str] = frozenset()


def redactor_of(redaction: Redaction | None) -> Redactor | None:
    """None where secrets are kept. OSError."""
    if redaction is None:
        return None
    return Redactor(Path(redaction.key_file).read_bytes(), redaction.shown_configs)


def lake_key_file(lake: str, copies: Path | None = None) -> str:
    """The path of the lake's key file, readable by its owner only; made where it is absent. It is
    absolute: Spark's workers need not share our working directory.

    copies: where a copy of a key goes that lies in an object store. Two that make one there at
    once would not agree, so only who holds the lake's lock may ask. Raises UsageError where the
    file is there and empty.
    """
    if is_remote(lake):
        assert copies is not None, "a key in an object store has no path"
        path = copies / FILE_NAME
        _write_new(path, _remote_key(lake))
    else:
        path = Path(local_path(lake), FILE_NAME).absolute()
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path)
    if path.stat().st_size == 0:
        place = f"{lake}/{FILE_NAME}" if is_remote(lake) else path
        raise UsageError(
            f"{place}: empty: restore it from a copy of the lake; with new bytes in it (head -c 32 "
            "/dev/urandom) ingest goes on, but old and new fingerprints can't be compared"
        )
    return str(path)


def keep_to_owner(lake: str) -> bool:
    """Take the rights of all but its owner from the folder of a lake that will hold secrets;
    whether there were any. In an object store the bucket's own policy says who may read.

    UsageError where the folder is another user's.
    """
    if is_remote(lake):
        return False
    folder = Path(local_path(lake))
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


def _remote_key(lake: str) -> bytes:
    key = lake_files.read(lake, FILE_NAME)
    if key is None:
        key = secrets.token_bytes(_KEY_BYTES)
        lake_files.write(lake, FILE_NAME, key)
    return key


def _create(path: Path) -> None:
    """Whole or not at all; of several that do it at once, the first decides."""
    draft = path.with_name(f"{FILE_NAME}.{uuid.uuid4().hex}")
    try:
        _write_new(draft, secrets.token_bytes(_KEY_BYTES))
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _write_new(path: Path, key: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
