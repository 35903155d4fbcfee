"""Turns an exception of Spark or Delta into an error of one line, which says what the user of the
lake or of the Spark cluster has to do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines import object_store
from pipelines.capture.spool import FOLDER
from pipelines.lake import Lake
from replica.errors import BusyError, KraftlakeError, UnwritableFileError, UsageError

_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_REFUSED = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|AccessDeniedException"
    r"|Mkdirs failed to create"
)
"""Texts of errors by which the operating system refuses something, in Java's words and in Rust's.
Java calls such an error FileNotFoundException, too."""
_MISSING = re.compile(
    r"(?:FILE_NOT_EXIST|DELTA_FILE_NOT_FOUND\w*|DELTA_TRUNCATED_TRANSACTION_LOG|"
    r"DELTA_LOG_FILE_NOT_FOUND\w*|FileNotFoundException[^\n]*(?:No such file|does not exist)|"
    r"DELTA_VERSIONS_NOT_CONTIGUOUS)"
)
_GONE = re.compile(r"Object at location (/\S+) not found")
_BROKEN = re.compile(r"(?:Parquet|Kernel|Arrow|Schema) error: [^\n]*")
"""Texts of delta-rs about a broken file, or about a table of other columns."""
_FILE = re.compile(r"(?:file:)?(/[^\s'`,;:]+\.(?:parquet|json|crc)(?:\.\w+)*)")
_UNSEEN_SPOOL = re.compile(rf"(?:VanishedFileError|FileNotFoundError)[^\n]*/{FOLDER}/")
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^'.]+)")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_LOST = re.compile(
    r"Python worker exited unexpectedly|number from pyspark\.daemon|ExecutorLostFailure"
)
"""Texts of a Spark job that failed because a task's process ended in each attempt."""
_CONFLICT = re.compile(
    r"Concurrent(?:Append|Transaction|Write|DeleteRead|DeleteDelete)Exception|"
    r"(?:Metadata|Protocol)ChangedException|Failed to commit transaction"
)


@contextmanager
def scratch_errors(folder: str) -> Iterator[None]:
    """Raises UnwritableFileError where Spark can't start because the disk of its scratch files, in
    this folder, is full."""
    try:
        yield
    except Exception as error:
        reason = next((reason for reason in _FULL if reason in str(error)), None)
        if reason is None:
            raise
        hint = "make room there or set TMPDIR, and run this again; nothing was changed"
        raise UnwritableFileError(folder, f"{reason}; {hint}") from error


@contextmanager
def lake_errors(lake: Lake) -> Iterator[None]:
    """Raises the errors of `meaning_of` instead of Spark's exceptions, where `meaning_of` knows
    their texts."""
    try:
        yield
    except KraftlakeError:
        raise
    except Exception as error:
        meaning = meaning_of(str(error), lake)
        if meaning is None:
            raise
        raise meaning from error


def meaning_of(text: str, lake: Lake) -> KraftlakeError | None:
    """The error for an exception's text; None for an unknown one. Known are failures at the lake's
    files and in Spark's executors."""
    for reason in _FULL:
        if reason in text:
            hint = "make room and run this again, nothing that was committed is lost"
            return UnwritableFileError(lake.place, f"{reason}; {hint}")
    refused = object_store.meaning(text) if object_store.is_s3(lake.place) else None
    if refused is not None:
        return UnwritableFileError(lake.place, f"{refused}; then run this again")
    if _CONFLICT.search(text):
        return BusyError(f"{lake}: another writer changed it meanwhile: run this again")
    gone = _GONE.search(text)
    file = gone or _FILE.search(text)
    if refusal := _REFUSED.search(text):
        hint = "let this user read and write the lake's folder and run this again"
        reason = f"{refusal[0]}; {hint}, nothing that was committed is lost"
        return UnwritableFileError(file[1] if file else lake.place, reason)
    if gone or _MISSING.search(text):
        if file and os.path.exists(file[1]):
            return None
        named = f"{file[1]} is missing" if file else "a file of its tables is missing"
        return UsageError(
            f"{lake}: {named}: run this again, as a job beside it may have cleaned up; if it is "
            "still missing, restore it, or ingest the captures into a new lake"
        )
    if broken := _BROKEN.search(text):
        return UsageError(
            f"{lake}: a file of its tables can't be read ({broken[0][:300]}): restore it, or "
            "ingest the captures into a new lake"
        )
    return _of_executors(text, lake)


def _of_executors(text: str, lake: Lake) -> KraftlakeError | None:
    """The error for processes of executors that ended, or for a package or file that the executors
    of a cluster lack (docs/how-to/cluster.md); None for any other text."""
    if _UNSEEN_SPOOL.search(text):
        return UsageError(
            f"{lake}: Spark's executors don't see this folder: on a cluster a lake lies on a file "
            "system that is mounted at the same path on the driver and every worker"
        )
    if missing := _NO_MODULE.search(text):
        ours = missing[1] in ("jobs", "pipelines", "replica")
        hint = "--py-files dist/kraftlake-jobs.zip" if ours else "a PYSPARK_PYTHON that has it"
        return UsageError(f"Spark's executors have no module {missing[1]}: submit with {hint}")
    if missing := _NO_PYTHON.search(text):
        return UsageError(
            f"Spark finds no {missing[1]} where it needs Python: set PYSPARK_PYTHON to one that is "
            "at the same path on the driver and every worker"
        )
    if "PYTHON_VERSION_MISMATCH" in text:
        return UsageError(
            "the executors' Python is of another release than the driver's: set PYSPARK_PYTHON and "
            "PYSPARK_DRIVER_PYTHON to the same one"
        )
    if _LOST.search(text):
        return KraftlakeError(
            f"{lake}: processes of Spark's executors ended, as the kernel kills where memory runs "
            "out: run this again; nothing that was committed is lost"
        )
    return None
