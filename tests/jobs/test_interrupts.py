"""Ctrl-C while a command waits on Spark: one line that says what to run, and nothing goes on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.cli.interrupts import interruptible
from tests.kraftlake_process import REPOSITORY, WITHIN_S, command_line

NODE = "kafka-3.7.2-static/final/1"
CLUSTER = "gT_wj4dEReaNt2vnLWy9Aw"
_MARK = "KRAFTLAKE_TEST_RUN"


def interrupted(behind: str, seconds: float, *arguments: object, again: bool = False) -> list[str]:
    """What a command says after Ctrl-C, which its terminal sends to all its processes: `seconds`
    behind a line with that text. again: Ctrl-C is pressed twice.

    All its processes have ended then.
    """
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        command_line(*arguments),
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, _MARK: mark},
    )
    assert process.stderr is not None
    before = []
    for line in process.stderr:
        before.append(line)
        if behind in line:
            break
    else:
        raise AssertionError("".join(before))
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    if again:
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
    said = process.stderr.read().splitlines()
    # Python ends itself by SIGINT, for which a shell shows 130 too, where the interrupt came while
    # it ran code out of a text, such as the methods of a dataclass at import; and a second SIGINT
    # may come when Python has given its handlers back already
    assert process.wait(WITHIN_S) in (130, -signal.SIGINT), said
    _wait_for_the_end(mark)
    return [line for line in said if not line.startswith(arguments[0] + ": quality of")]  # type: ignore[operator]


def _wait_for_the_end(mark: str) -> None:
    """A JVM sees that it is alone, and ends."""
    until = time.monotonic() + WITHIN_S
    while left := [path for path in Path("/proc").glob("[0-9]*/environ") if _has(path, mark)]:
        assert time.monotonic() < until, left
        time.sleep(0.2)


def _has(environment: Path, mark: str) -> bool:
    try:
        return f"{_MARK}={mark}".encode() in environment.read_bytes()
    except OSError:  # it has ended
        return False


def test_the_line_says_what_was_interrupted_and_what_to_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def with_a_handler_of_its_own() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible("build", lambda: "run it again"):
        with_a_handler_of_its_own()
    assert capsys.readouterr().err == "build: interrupted: run it again\n"
    assert signal.getsignal(signal.SIGINT) is before


def _fails_on_the_way_out() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        raise ConnectionError("the connection is closed")


def _is_wrapped() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise RuntimeError("a job was cancelled") from error


@pytest.mark.parametrize("act", [_fails_on_the_way_out, _is_wrapped])
def test_an_error_while_an_interrupt_ends_the_work_is_reported_as_the_interrupt(
    act: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible("build", lambda: "run it again"):
        act()
    assert capsys.readouterr().err == "build: interrupted: run it again\n"


class _HalfMade:
    """An object whose constructor is interrupted by SIGINT, so that its destructor fails (as
    objects of llvmlite.binding.ffi do)."""

    def __init__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        self.is_made = True

    def __del__(self) -> None:
        assert self.is_made


def test_destructors_of_objects_whose_constructor_was_interrupted_say_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with pytest.raises(KeyboardInterrupt), interruptible("ingest", lambda: "run it again"):
        _HalfMade()
    assert capsys.readouterr().err == "ingest: interrupted: run it again\n"


def test_other_errors_go_through(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="a bug"), interruptible("build", lambda: "run it again"):
        raise ValueError("a bug")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("step", ["damage", "log records", "log batches"])
def test_while_an_ingest_works(data: Path, tmp_path: Path, step: str) -> None:
    lake = tmp_path / "lake"
    said = interrupted(f": {step}", 0, "ingest", "--lake", lake, data / NODE)
    assert [line for line in said if not line.startswith("ingest: 1 replicas")] == [
        "ingest: interrupted: what was committed stays: run the same command again, which goes on "
        "and stores nothing twice"
    ]


@pytest.fixture
def lake(recorded_lake: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded_lake, tmp_path / "lake"))


@pytest.mark.spark
@pytest.mark.parametrize(
    "seconds", [0.5, *(pytest.param(one, marks=pytest.mark.slow) for one in (3, 5))]
)
def test_while_spark_starts_and_works(lake: Path, seconds: float) -> None:
    said = interrupted("starting Spark", seconds, "quality", "--engine", "spark", "--lake", lake)
    progress = "quality: by Spark", "quality: judge"
    assert [line for line in said if not line.startswith(progress)] == [
        f"quality: interrupted: run `kraftlake quality --lake {lake}` again"
    ]


def _is_progress(line: str) -> bool:
    """Whether a line tells of progress: it has the name of the table that comes next, or the number
    of clusters and records."""
    return re.fullmatch(r"maintain: \w+\.\w+|build: \d+ clusters, \d+ records", line) is not None


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("words", "behind", "then"),
    [
        (
            ("quality", "--engine", "spark"),
            "starting Spark",
            "run `kraftlake quality --lake {}` again",
        ),
        (("maintain",), "maintain: bronze.damage", "run `kraftlake maintain --lake {}` again"),
        (
            ("forget", "--cluster", CLUSTER, "--yes"),
            "starting Spark",
            "run `kraftlake forget --lake {} --yes`, which finishes it",
        ),
        (
            ("sql", "--engine", "spark", "select count(*) from bronze.log_records a, "
             "bronze.log_records b, bronze.log_records c"),
            "starting Spark",
            "nothing was changed: ask again",
        ),
        (("register", "--catalog", "{}-names"), "starting Spark", "run the same command again"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_each_command_says_what_to_run(
    lake: Path, words: tuple[str, ...], behind: str, then: str
) -> None:
    for seconds in (1, 4, 8):
        given = (word.format(lake) for word in words)
        said = interrupted(behind, seconds, *given, "--lake", lake)
        (line,) = [line for line in said if not _is_progress(line)]
        assert line.startswith(f"{words[0]}: interrupted: {then.format(lake)}")


@pytest.mark.slow
@pytest.mark.spark
def test_the_second_ctrl_c_ends_the_process_at_once(lake: Path) -> None:
    said = interrupted("build: quality of bronze", 1, "build", "--lake", lake, again=True)
    assert len([line for line in said if not _is_progress(line)]) <= 1


@pytest.mark.slow
@pytest.mark.spark
def test_an_interrupted_build_that_is_run_again_gives_what_one_without_gives(
    lake: Path, built_lake: Path
) -> None:
    interrupted("build: silver.leader_epochs", 1, "build", "--lake", lake)
    done = subprocess.run(
        command_line("build", "--lake", lake, "--json"),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for table in ("silver/committed_log", "gold/metadata_history"):
        assert _count(lake, table) == _count(built_lake, table)


def _count(lake: Path, table: str) -> int:

    return int(DeltaTable(lake / table).to_pyarrow_dataset().count_rows())
