"""A log directory belongs to one process at a time; tests/interop holds Kafka to it too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replica.errors import UnwritableFileError, UsageError
from replica.storage.directory_lock import FILE_NAME, DirectoryLock

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys
from replica.storage.directory_lock import DirectoryLock
lock = DirectoryLock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock; killed at the end, if not before."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_directory_locked_by_another_process_is_refused_in_one_line(tmp_path: Path) -> None:
    with holder(tmp_path), pytest.raises(UsageError) as refused:
        DirectoryLock(str(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path}/.lock: another process runs a Kafka or kraftlake node on this directory: "
        "stop it, or name another directory in log.dirs"
    )


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        DirectoryLock(str(tmp_path)).close()
    assert (tmp_path / FILE_NAME).read_bytes() == b""


def test_a_refused_attempt_leaves_no_trace_in_this_process(tmp_path: Path) -> None:
    with holder(tmp_path), pytest.raises(UsageError):
        DirectoryLock(str(tmp_path))
    with DirectoryLock(str(tmp_path)):
        pass


def test_a_second_holder_in_this_process_is_refused_and_the_first_keeps_others_out(
    tmp_path: Path,
) -> None:
    with DirectoryLock(str(tmp_path)):
        with pytest.raises(UsageError, match="this process runs"):
            DirectoryLock(str(tmp_path))
        with pytest.raises(UsageError, match="this process runs"):
            DirectoryLock(f"{tmp_path}/../{tmp_path.name}")
        ran = subprocess.run(
            [sys.executable, "-c", HOLDER, str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "another process runs" in ran.stderr
    with holder(tmp_path):
        pass


def test_two_directories_are_locked_apart(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    with DirectoryLock(f"{tmp_path}/a"), DirectoryLock(f"{tmp_path}/b"):
        pass


def test_a_directory_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match=r"absent/\.lock: No such file or directory"):
        DirectoryLock(f"{tmp_path}/absent")
