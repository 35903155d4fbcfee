"""Files and folders that a command's options and arguments name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pipelines.object_store import is_uri
from replica.errors import UsageError


def check_there(paths: Iterable[str]) -> None:
    """Raises UsageError for a path on this machine that doesn't exist."""
    for path in paths:
        if not is_uri(path) and not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or directory")


def bytes_in(option: str, path: str, most: int) -> bytes:
    """The content of the file that an option names. Raises UsageError, which names the option, for
    a file that can't be read or has more than `most` bytes."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}") from error
    if len(content) > most:
        raise UsageError(f"{option} {path}: more than {most} bytes")
    return content


def text_in(option: str, path: str, most: int) -> str:
    """The content of the file that an option names, decoded from UTF-8. Raises UsageError as
    bytes_in does, and for a file that is not UTF-8."""
    try:
        return bytes_in(option, path, most).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{option} {path}: byte {error.start} is not UTF-8") from error
