"""The `kraftlake` command as its users meet it: start-up, help, errors, pipes, interrupts."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from jobs.cli.commands.parameters import COMMANDS, function_of
from jobs.cli.directories import dump as dump_job
from jobs.cli.outcome import TEMPORARY
from replica.errors import BusyError, KraftlakeError, NoLeaderError, UnreadableFileError
from replica.installation import line_that_adds
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line

SOME_COMMANDS = ("dump", "diff", "ingest", "build", "sql", "report", "demo")


def test_help_teaches_every_command(kraftlake: Kraftlake) -> None:
    overview = kraftlake("--help")
    assert overview.code == 0
    assert kraftlake().out == overview.out
    for command in SOME_COMMANDS:
        assert f"\n  {command} " in overview.out
        ended = kraftlake(command, "--help")
        assert ended.code == 0
        assert "Exit codes: 0" in ended.out
        assert "\x1b" not in ended.out


def test_help_has_a_heading_for_each_folder_of_commands_and_one_for_the_shell(
    kraftlake: Kraftlake,
) -> None:
    commands = kraftlake("--help").out.partition("Show this message and exit.")[2]
    headings = [line for line in commands.splitlines() if line.endswith(":")]
    folders = {
        path.parent.name
        for path in (REPOSITORY / "jobs/cli").glob("*/__init__.py")
        if path.parent.name not in ("commands", "schemas")
    }
    assert folders == {"directories", "lake", "asking", "sharing", "engine"}
    assert headings == [
        "Directories of nodes:",
        "A lake:",
        "Questions to a lake, or to directories:",
        "A lake for others:",
        "Replicas:",
        "The shell:",
    ]


def test_a_start_makes_the_options_of_the_command_that_is_named_and_of_no_other(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = typer.main.get_command_from_info

    def counted(**given: Any) -> Any:
        made.append(given)
        return make(**given)

    monkeypatch.setattr(typer.main, "get_command_from_info", counted)
    assert kraftlake("check", "--help").code == 0
    assert kraftlake("replica", "run", "--help").code == 0
    assert len(made) == 2
    assert kraftlake("nonsense").code == 2
    assert len(made) > 30


@pytest.mark.parametrize("options", COMMANDS, ids=lambda options: options.__name__)
def test_the_function_of_each_command_takes_its_options(options: type) -> None:
    function = function_of(options)
    (taken,) = inspect.signature(function).parameters.values()
    module = inspect.getmodule(getattr(function, "func", function))
    named = taken.annotation
    assert (getattr(module, named) if isinstance(named, str) else named) is options


@pytest.mark.parametrize(
    ("words", "usage", "argument"),
    [
        (["dump"], "Usage: kraftlake dump [OPTIONS] PATH...", "PATH...  A segment,"),
        (["explain"], "Usage: kraftlake explain [OPTIONS] [RULE]", "RULE  A rule's name,"),
        (["diff"], "Usage: kraftlake diff [OPTIONS] A B", "A  The directory"),
    ],
)
def test_help_names_each_argument_as_it_is_typed(
    words: list[str], usage: str, argument: str, kraftlake: Kraftlake
) -> None:
    page = kraftlake(*words, "--help").out
    assert page.splitlines()[0] == usage
    assert f"\nArguments:\n  {argument}" in page


@pytest.mark.parametrize("options", COMMANDS, ids=lambda options: options.__name__)
def test_help_says_what_an_option_does_in_a_sentence(options: type) -> None:
    """`--follow builds again`, and not `--follow: builds again`. Only the fields of JSON are a
    list."""
    text = " ".join((options.__doc__ or "").split())
    labels = re.findall(r"(?:^|[.:] )(--[a-z-]+)(?: [A-Z]+)*: ", text)
    assert set(labels) <= {"--json"}


@pytest.mark.parametrize("options", COMMANDS, ids=lambda options: options.__name__)
def test_help_breaks_no_word_at_its_hyphen(options: type) -> None:
    """A page joins the lines of a paragraph by a space: `log-` and `directory` become two words."""
    assert not re.findall(r"\w-\n.*", options.__doc__ or "")


def test_the_version_is_shown(kraftlake: Kraftlake) -> None:
    ended = kraftlake("--version")
    assert ended.code == 0
    assert ended.out.startswith("kraftlake ")


def test_an_unknown_command_is_refused_in_one_line(process: Kraftlake) -> None:
    ended = process("dmup")
    assert ended.code == 2
    assert "No such command 'dmup'" in ended.error


def test_a_missing_path_is_refused_in_one_line(process: Kraftlake) -> None:
    ended = process("dump", "/nowhere/at/all")
    assert ended.code == 2
    assert ended.error == "/nowhere/at/all: no such file or directory"


def test_a_path_may_be_named_in_any_script_and_locale(process: Kraftlake, tmp_path: Path) -> None:
    path = tmp_path / "Größe-日本.log"
    path.write_bytes(b"")
    ended = process("dump", path, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (ended.code, ended.err) == (0, "")


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    command = command_line("dump", "tests/data/kafka-3.7.2-static")
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_an_interrupt_ends_the_command_quietly(tmp_path: Path) -> None:
    command = command_line("sql", "--lake", tmp_path, "-")
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        # communicate() closes stdin, which ends the query before the interrupt has arrived.
        assert process.wait(60) == 130
        assert process.communicate() == (b"", b"")


def wait_until_reading(pid: int) -> None:
    """Until the child, in which the command goes on, sleeps in a read of its stdin. The command's
    own process may sleep in a read of another pipe."""
    import time

    for _ in range(600):
        children = Path(f"/proc/{pid}/task/{pid}/children")
        for one in children.read_text().split() if children.exists() else ():
            state = Path(f"/proc/{one}/wchan")
            if state.exists() and "pipe" in state.read_text():
                return
        time.sleep(0.05)
    time.sleep(2)  # where the kernel doesn't tell


def test_an_error_that_is_not_the_user_s_fault_exits_with_1(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise UnreadableFileError("/disk", "Input/output error")

    monkeypatch.setattr(dump_job, "run", refuse)
    ended = kraftlake("dump", ".")
    assert (ended.code, ended.error) == (1, "/disk: Input/output error")


@pytest.mark.parametrize("error", [BusyError, NoLeaderError])
def test_an_error_that_may_be_gone_later_exits_with_75(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, error: type[KraftlakeError]
) -> None:
    def refuse(*_: object) -> int:
        raise error("not now")

    monkeypatch.setattr(dump_job, "run", refuse)
    ended = kraftlake("dump", ".")
    assert (ended.code, ended.error) == (TEMPORARY, "not now")
    assert TEMPORARY == os.EX_TEMPFAIL


def test_a_bug_is_one_line_unless_the_developer_asks(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> int:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(dump_job, "run", break_down)
    ended = kraftlake("dump", ".")
    assert ended.code == 1
    assert ended.error.startswith("internal error, ZeroDivisionError: by; KRAFTLAKE_DEBUG=1")
    monkeypatch.setenv("KRAFTLAKE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        kraftlake("dump", ".")


def test_too_little_memory_is_one_line(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def need_too_much(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(dump_job, "run", need_too_much)
    ended = kraftlake("dump", ".")
    assert (ended.code, ended.error[:30]) == (1, "there is not enough memory for")


def test_of_a_python_worker_that_broke_down_its_own_error_is_told(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> int:
        raise RuntimeError(
            "[PYTHON_DATA_SOURCE_ERROR] Failed: Traceback (most recent call last):\n"
            '  File "/x.py", line 1, in reader\nKeyError: 1\n\n'
            "During handling of the above exception, another exception occurred:\n\n"
            '  File "/x.py", line 3, in reader\na.b.GoneError: k: file is gone\n SQLSTATE: 38000'
        )

    monkeypatch.setattr(dump_job, "run", break_down)
    ended = kraftlake("dump", ".")
    assert ended.error.startswith("internal error, RuntimeError: a.b.GoneError: k: file is gone; ")


def test_a_missing_extra_says_what_to_install(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "gold/votes/_delta_log").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.delitem(sys.modules, "jobs.cli.asking.sql_delta_rs", raising=False)
    ended = kraftlake("sql", "--lake", tmp_path, "select 1")
    assert (ended.code, ended.error) == (
        1,
        f"deltalake is not installed: {line_that_adds('lake')}",
    )
