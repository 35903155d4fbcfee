"""What goes wrong with a lake's files is told by what the user can do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.delta.failures import lake_errors, meaning_of
from pipelines.lake import Lake
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
    meaning = meaning_of(UNSEEN, Lake("/lake"))
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
def test_a_package_that_executors_lack_is_named_with_what_to_do(text: str, meaning: str) -> None:
    told_so = meaning_of(f"Job aborted due to stage failure: {text}", Lake("/lake"))
    assert isinstance(told_so, UsageError)
    assert str(told_so).startswith(meaning)


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        "Lost task 0.3 in stage 0.0 (TID 7) (executor 5): ExecutorLostFailure (executor 5 exited)",
    ],
)
def test_a_process_of_an_executor_that_ended_is_no_bug_of_ours(text: str) -> None:
    told_so = meaning_of(f"Job aborted due to stage failure: {text}", Lake("/lake"))
    assert str(told_so).startswith("/lake: processes of Spark's executors ended, as the kernel")


def test_a_missing_data_file_is_named() -> None:
    meaning = meaning_of(MISSING, Lake("/lake"))
    assert isinstance(meaning, UsageError)
    file = "/lake/bronze/log_batches/part-00000-a.snappy.parquet"
    assert str(meaning).startswith(f"/lake: {file} is missing: run this again, as a job beside it")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            "External error: Parquet error: Failed to fetch metadata for file "
            "lake/gold/a/part-1.parquet: Object Store error: Object at location "
            "/lake/gold/a/part-1.parquet not found: No such file or directory (os error 2)",
            "/lake: /lake/gold/a/part-1.parquet is missing: run this again",
        ),
        (
            "External error: Parquet error: Failed to fetch metadata for file "
            "lake/gold/a/part-1.parquet: Requested range was invalid",
            "/lake: a file of its tables can't be read (Parquet error: Failed to fetch metadata "
            "for file lake/gold/a/part-1.parquet: Requested range was invalid): restore it",
        ),
        (
            "Kernel error: Json error: Encountered unexpected 'g' whilst parsing value",
            "/lake: a file of its tables can't be read (Kernel error: Json error: Encountered "
            "unexpected 'g' whilst parsing value): restore it",
        ),
    ],
)
def test_tables_that_delta_rs_cannot_read_are_named(text: str, meaning: str) -> None:
    told_so = meaning_of(text, Lake("/lake"))
    assert isinstance(told_so, UsageError)
    assert str(told_so).startswith(meaning)


def test_a_conflict_says_to_run_it_again() -> None:
    meaning = meaning_of(CONFLICT, Lake("/lake"))
    assert isinstance(meaning, BusyError)
    assert str(meaning).endswith("another writer changed it meanwhile: run this again")


@pytest.mark.parametrize("reason", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_no_internal_error(reason: str) -> None:
    with (
        pytest.raises(UnwritableFileError, match=f"^/lake: {reason}; make room"),
        lake_errors(Lake("/lake")),
    ):
        raise RuntimeError(f"java.io.IOException: {reason}")


def test_other_errors_are_left_as_they_are() -> None:
    error = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug") as raised, lake_errors(Lake("/lake")):
        raise error
    assert raised.value is error


def test_an_error_of_ours_that_names_a_cause_is_kept() -> None:
    ours = UsageError("No space left on device")
    with pytest.raises(UsageError) as raised, lake_errors(Lake("/lake")):
        raise ours
    assert raised.value is ours


@pytest.mark.parametrize(
    ("text", "named", "reason"),
    [
        (
            "java.io.FileNotFoundException: /lake/silver/x/part-0.snappy.parquet (Read-only file "
            "system)\n\tat java.base/java.io.FileOutputStream.open0(Native Method)",
            "/lake/silver/x/part-0.snappy.parquet",
            "Read-only file system",
        ),
        (
            "java.io.FileNotFoundException: /lake/gold/x/part-0.snappy.parquet (Permission denied)",
            "/lake/gold/x/part-0.snappy.parquet",
            "Permission denied",
        ),
        (
            "java.nio.file.AccessDeniedException: /lake/gold/x/_delta_log/.0.json.c.tmp",
            "/lake/gold/x/_delta_log/.0.json.c.tmp",
            "AccessDeniedException",
        ),
        (
            "Generic LocalFileSystem error: Unable to rename file: Operation not permitted (os "
            "error 1)",
            "/lake",
            "Operation not permitted",
        ),
        (
            "java.io.IOException: Mkdirs failed to create file:/lake/gold/votes (exists=false)",
            "/lake",
            "Mkdirs failed to create",
        ),
    ],
)
def test_a_lake_that_has_become_read_only_is_called_that_and_not_damaged(
    text: str, named: str, reason: str
) -> None:
    meaning = meaning_of(f"Job aborted due to stage failure: {text}", Lake("/lake"))
    assert isinstance(meaning, UnwritableFileError)
    assert str(meaning) == (
        f"{named}: {reason}; let this user read and write the lake's folder and run this again, "
        "nothing that was committed is lost"
    )


def test_a_file_that_is_there_is_not_called_missing(tmp_path: Path) -> None:
    file = tmp_path / "part-00000-a.snappy.parquet"
    file.touch()
    assert meaning_of(f"[FAILED_READ_FILE.FILE_NOT_EXIST] file:{file}.", Lake("/lake")) is None
    file.unlink()
    assert "is missing" in str(
        meaning_of(f"[FAILED_READ_FILE.FILE_NOT_EXIST] {file}.", Lake("/lake"))
    )


def test_no_file_that_java_can_t_open_is_called_missing_for_that_alone() -> None:
    text = "java.io.FileNotFoundException: /lake/gold/x/part-0.snappy.parquet (Too many open files)"
    assert meaning_of(text, Lake("/lake")) is None
