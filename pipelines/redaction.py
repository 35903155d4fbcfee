"""The key of a lake's fingerprints: made once, never in a table, so that re-runs agree."""

from __future__ import annotations

import os
import secrets
import uuid
from pathlib import Path

from replica.errors import UsageError

FILE_NAME = "_redaction.key"
_KEY_BYTES = 32


def lake_key_file(lake: str) -> str:
    """The path of the lake's key file, readable by its owner only; made where it is absent.

    Raises UsageError where the file is there and empty.
    """
    path = Path(lake, FILE_NAME)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _create(path)
    if path.stat().st_size == 0:
        raise UsageError(f"{path}: empty; remove it to have a new key made")
    return str(path)


def _create(path: Path) -> None:
    """Whole or not at all; of several that do it at once, the first decides."""
    draft = path.with_name(f"{FILE_NAME}.{uuid.uuid4().hex}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
