"""The key of a lake's fingerprints: made once, never in a table, so that re-runs agree."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from replica.errors import UsageError

FILE_NAME = "_redaction.key"
_KEY_BYTES = 32


def lake_key_file(lake: str) -> str:
    """The path of the lake's key file, readable by its owner only; made where it is absent.

    Raises UsageError where the file is there and empty.
    """
    path = Path(lake, FILE_NAME)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if path.stat().st_size == 0:
            raise UsageError(f"{path}: empty; remove it to have a new key made") from None
        return str(path)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
    return str(path)
