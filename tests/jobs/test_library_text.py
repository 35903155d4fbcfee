"""What libraries print by themselves on stderr, as delta-rs where it panics and Java where Spark
fails, moves no terminal."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY

HOSTILE = "\x1b[2J\x9b31m\u202e"
ESCAPED = "\\x1b[2J\\x9b31m\\u202e"
BEFORE = """
import os, subprocess, sys
from jobs.cli import output
from pipelines.lake.library_text import escape_library_text, of_a_command
from replica.terminal_text import to_stderr
"""
PANICKING = """
import sys
from pipelines.lake import delta_rs, library_text
delta_rs.refuse_lying_footers = lambda *_: None
library_text.one_line_bytes = lambda raw: b"escaped: " + raw
from jobs.cli.main import main
main()
"""


def run(code: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "write",
    [
        f"os.write(2, {HOSTILE!r}.encode() + b'\\n')",
        f"os.write(2, {HOSTILE!r}.encode())",  # without an end of the line
        f"subprocess.run(['sh', '-c', 'printf %s \"$1\" >&2', 'sh', {HOSTILE!r}])",
    ],
)
def test_what_is_written_to_file_2_is_escaped(write: str) -> None:
    done = run(f"{BEFORE}with of_a_command():\n escape_library_text(); {write}; to_stderr('ours')")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stderr.splitlines()) == [ESCAPED, "ours"]


def test_a_library_that_keeps_the_interpreter_s_lock_is_not_kept_waiting() -> None:
    """PyDLL doesn't give the lock away, without which nobody reads the pipe."""
    done = run(
        f"{BEFORE}import ctypes\n"
        "with of_a_command():\n"
        " escape_library_text(); ctypes.PyDLL(None).write(2, b'x' * (1 << 20), 1 << 20)\n"
        " to_stderr('ours')"
    )
    assert done.returncode == 0
    assert "ours\n" in done.stderr


@pytest.mark.parametrize(
    ("code", "variables"),
    [
        ("escape_library_text(); {}", {}),  # a notebook
        ("with of_a_command():\n escape_library_text(); {}", {"KRAFTLAKE_DEBUG": "1"}),
    ],
)
def test_a_notebook_s_stderr_and_one_that_is_debugged_are_left_alone(
    code: str, variables: dict[str, str]
) -> None:
    done = run(BEFORE + code.format("os.write(2, b'\\x1b[1m')"), **variables)
    assert done.stderr == "\x1b[1m"


def test_a_progress_is_shown_where_the_command_s_own_lines_are() -> None:
    done = run(
        f"{BEFORE}"
        "output._PROGRESS_AFTER = 0\n"
        "line = output.ProgressLine()\n"
        "line._enabled = True\n"
        "with of_a_command():\n"
        " escape_library_text(); line.show('half'); line.clear()\n"
    )
    assert done.stderr.split() == ["half"]
    assert "\\r" not in done.stderr


def test_the_words_of_a_real_panic_are_escaped(built_lake: Path, tmp_path: Path) -> None:
    """Nothing of ours looks at the files here, as where a panic has another cause."""
    lake = Path(shutil.copytree(built_lake, tmp_path / "lake"))
    for file in (lake / "gold/findings").glob("*.parquet"):
        data = file.read_bytes()
        file.write_bytes(data[:-8] + struct.pack("<I", 2**31 - 1) + data[-4:])
    done = run(PANICKING, "sql", "--lake", lake, "SELECT * FROM gold.findings")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "panicked" in line]
    assert said
    assert all(line.startswith("escaped: ") for line in said)
    assert done.stderr.splitlines()[-1].startswith("kraftlake: error: ")


def test_what_a_jvm_prints_is_escaped() -> None:
    done = run(
        "import io, sys; from pipelines.spark.jvm import _forward\n"
        "_forward(io.BytesIO(sys.argv[1].encode() + b'\\n'))",
        f"java.lang.Exception: {HOSTILE}",
    )
    assert done.stderr == f"java.lang.Exception: {ESCAPED}\n"


CLEARS = "concat(chr(27), '[2J')"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((f"SELECT CAST({CLEARS} AS BIGINT)",), "\\x1b[2J"),
        pytest.param(
            ("--engine", "spark", f"SELECT raise_error({CLEARS})"),
            "[USER_RAISED_EXCEPTION] \\x1b[2J",
            marks=[pytest.mark.spark, pytest.mark.slow],
        ),
    ],
    ids=["delta-rs", "java"],
)
def test_an_exception_with_a_stranger_s_text_is_one_escaped_line(
    process: Kraftlake, built_lake: Path, words: tuple[str, ...], told: str
) -> None:
    ended = process("sql", "--lake", built_lake, *words)
    assert ended.code != 0
    assert "\x1b" not in ended.err + ended.out
    assert told in ended.complaints[-1]
