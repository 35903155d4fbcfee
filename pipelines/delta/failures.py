"""What exceptions of Spark and Delta mean to a user of a lake, as one line that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines import object_store
from replica.errors import KraftlakeError, UnwritableFileError, UsageError

_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_MISSING = re.compile(
    r"(?:FILE_NOT_EXIST|DELTA_FILE_NOT_FOUND\w*|DELTA_TRUNCATED_TRANSACTION_LOG|"
    r"DELTA_LOG_FILE_NOT_FOUND\w*|FileNotFoundException|DELTA_VERSIONS_NOT_CONTIGUOUS)"
)
_FILE = re.compile(r"(?:file:)?(/[^\s'`,;:]+\.(?:parquet|json|crc))")
_CONFLICT = re.compile(r"Concurrent(?:Append|Transaction|Write|DeleteRead|DeleteDelete)Exception")


@contextmanager
def told(lake: str) -> Iterator[None]:
    """KraftlakeErrors in the place of what Spark raises where the lake itself is the cause."""
    try:
        yield
    except KraftlakeError:
        raise
    except Exception as error:
        meaning = meaning_of(str(error), lake)
        if meaning is None:
            raise
        raise meaning from error


def meaning_of(text: str, lake: str) -> KraftlakeError | None:
    """Of an exception's text; None where the lake isn't the cause."""
    for reason in _FULL:
        if reason in text:
            hint = "make room and run this again, nothing that was committed is lost"
            return UnwritableFileError(lake, f"{reason}; {hint}")
    refused = object_store.meaning(text) if object_store.is_s3(lake) else None
    if refused is not None:
        return UnwritableFileError(lake, f"{refused}; then run this again")
    if _CONFLICT.search(text):
        return UsageError(f"{lake}: another writer changed it meanwhile: run this again")
    if _MISSING.search(text):
        file = _FILE.search(text)
        named = f": {file[1]} is missing" if file else ""
        return UsageError(
            f"{lake} is half-deleted{named}; restore it, or remove the lake's folder and ingest "
            "all captures again"
        )
    return None
