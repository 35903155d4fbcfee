"""What goes wrong with a lake's files is told by what the user can do about it."""

from __future__ import annotations

import pytest

from pipelines.delta.failures import meaning_of, told
from replica.errors import BusyError, UnwritableFileError, UsageError

MISSING = (
    "An error occurred while calling o87.collect: org.apache.spark.SparkException: "
    "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
    "file:/lake/bronze/log_batches/part-00000-a.snappy.parquet. File does not exist."
)
CONFLICT = (
    "An error occurred while calling o1.execute: io.delta.exceptions.ConcurrentAppendException: "
    "[DELTA_CONCURRENT_APPEND] Files were added to the root of the table by a concurrent update."
)
UNSEEN = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 5.0 failed "
    "4 times\nTraceback (most recent call last):\n"
    "replica.format.reading.VanishedFileError: /lake/_spool/7f/00001/0.log: file is gone\n"
)


def test_a_lake_that_the_executors_do_not_see_is_no_damaged_one() -> None:
    meaning = meaning_of(UNSEEN, "/lake")
    assert isinstance(meaning, UsageError)
    assert str(meaning).startswith("/lake: Spark's executors don't see this folder: on a cluster")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            "pyspark.errors...: ModuleNotFoundError: No module named 'pipelines.bronze'\n",
            "Spark's executors have no module pipelines: submit with --py-files dist/kraft",
        ),
        (
            "ModuleNotFoundError: No module named 'pyarrow'",
            "Spark's executors have no module pyarrow: submit with a PYSPARK_PYTHON that has it",
        ),
        (
            'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such',
            "Spark finds no ./environment/bin/python where it needs Python: set PYSPARK_PYTHON",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in",
            "the executors' Python is of another release than the driver's: set PYSPARK_PYTHON",
        ),
    ],
)
def test_what_the_executors_lack_is_said_with_what_to_do(text: str, meaning: str) -> None:
    told_so = meaning_of(f"Job aborted due to stage failure: {text}", "/lake")
    assert isinstance(told_so, UsageError)
    assert str(told_so).startswith(meaning)


def test_a_missing_data_file_is_named() -> None:
    meaning = meaning_of(MISSING, "/lake")
    assert isinstance(meaning, UsageError)
    file = "/lake/bronze/log_batches/part-00000-a.snappy.parquet"
    assert str(meaning).startswith(f"/lake is half-deleted: {file} is missing; restore it")


def test_a_conflict_says_to_run_it_again() -> None:
    meaning = meaning_of(CONFLICT, "/lake")
    assert isinstance(meaning, BusyError)
    assert str(meaning).endswith("another writer changed it meanwhile: run this again")


@pytest.mark.parametrize("reason", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_no_internal_error(reason: str) -> None:
    with pytest.raises(UnwritableFileError, match=f"^/lake: {reason}; make room"), told("/lake"):
        raise RuntimeError(f"java.io.IOException: {reason}")


def test_other_errors_are_left_as_they_are() -> None:
    error = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug") as raised, told("/lake"):
        raise error
    assert raised.value is error


def test_an_error_of_ours_that_names_a_cause_is_kept() -> None:
    ours = UsageError("No space left on device")
    with pytest.raises(UsageError) as raised, told("/lake"):
        raise ours
    assert raised.value is ours
