"""Types the commands of a documentation page, in a folder like the one that the page describes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import CONDITIONAL
from jobs.cli.outcome import run as run_command
from tests.docs.pages import DEMO_LAKE, ROOT, Step

_ANSWERS = (0, 1, CONDITIONAL)
"""The exit codes of commands that have given an answer."""
_WITHIN_S = 600.0
_ABORTED_AT_EXIT = "terminate called without an active exception"
"""The last words of a process in which a thread of a C++ library still runs while Python ends. A
process of a page's Python, with deltalake and pandas, ended so on a busy machine. Such a process
runs once more."""
_FILTER = re.compile(r"( 2>&1)?(?: \| head -(\d+))?$")
_SHELL = re.compile(r"[|<>&;$`(){}*~]")
_NAMES = ("kraftlake", ".venv/bin/kraftlake")
_NOTEBOOK = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for cell in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(json.loads(cell), "cell", "exec"), names)
    print(json.dumps(printed.getvalue()), flush=True)
"""
"""A program that runs each line of its input, a cell as JSON, and prints what the cell printed."""


class Reader:
    """Runs the commands: kraftlake in this process, which is quick, and everything
    else in a shell."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """folder: an empty folder, which becomes the working directory."""
        self._folder = folder
        self._capsys = capsys
        self._notebook: subprocess.Popen[str] | None = None
        (folder / "tests").mkdir()
        (folder / "tests" / "data").symlink_to(ROOT / "tests" / "data")
        (folder / ".venv" / "bin").mkdir(parents=True)
        command = folder / ".venv" / "bin" / "kraftlake"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m jobs.cli "$@"\n')
        command.chmod(0o755)

    def give_lake(self, lake: Path) -> None:
        """Give the page a copy of a lake, in which it may build. lake: the lake that the page calls
        the demo's; other tests read it meanwhile."""
        shutil.copytree(lake, self._folder / DEMO_LAKE)

    def output(self, step: Step) -> str:
        """The output of the step. Fails where the command fails."""
        for name, source in step.block.copies:
            if not Path(self._folder, name).exists():
                shutil.copytree(ROOT / source, self._folder / name)
        if step.kind == "sql":
            return self._kraftlake(["sql", "--lake", DEMO_LAKE, step.text])
        if step.kind == "console":
            return self._typed(step.text)
        if step.kind == "notebook":
            return self._cell(step.text)
        if step.kind == "python":
            return self._process([sys.executable, "-c", step.text], ends_with=(0,))
        lines = [words(line) for line in logical_lines(step.text)]
        if all(line is not None for line in lines):
            return "".join(self._kraftlake(line) for line in lines if line)
        return self._process(["sh", "-u", "-c", step.text])

    def _typed(self, line: str) -> str:
        found = _FILTER.search(line)
        assert found is not None
        arguments = words(line[: found.start()])
        if arguments is None:
            return self._process(["sh", "-u", "-c", line])
        printed = self._kraftlake(arguments, with_stderr=found[1] is not None)
        kept = None if found[2] is None else int(found[2])
        return "".join(printed.splitlines(keepends=True)[:kept])

    def _kraftlake(self, arguments: list[str], *, with_stderr: bool = False) -> str:
        """The output of kraftlake. with_stderr: whether the page shows an error, so that the
        command may fail."""
        self._capsys.readouterr()
        code = run_command(app, arguments)
        said = self._capsys.readouterr()
        assert with_stderr or (code in _ANSWERS and not _errors(said.err)), (arguments, said.err)
        return said.out + said.err if with_stderr else said.out

    def _cell(self, text: str) -> str:
        """The output of a cell in the process of the page's notebook."""
        if self._notebook is None:
            self._log = (self._folder / "notebook.log").open("w")
            self._notebook = subprocess.Popen(
                [sys.executable, "-c", _NOTEBOOK],
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
            )
        assert self._notebook.stdin is not None
        assert self._notebook.stdout is not None
        self._notebook.stdin.write(json.dumps(text) + "\n")
        self._notebook.stdin.flush()
        printed = self._notebook.stdout.readline()
        assert printed, (text, (self._folder / "notebook.log").read_text())
        return str(json.loads(printed))

    def close(self) -> None:
        """Ends the notebook's process, if the page has one."""
        if self._notebook is not None:
            self._notebook.communicate(timeout=_WITHIN_S)
            self._log.close()

    def _process(self, command: list[str], ends_with: tuple[int, ...] = _ANSWERS) -> str:
        ended = self._run(command)
        if ended.returncode == -signal.SIGABRT and ended.stderr.startswith(_ABORTED_AT_EXIT):
            ended = self._run(command)
        assert ended.returncode in ends_with, (command, ended.stderr)
        assert not _errors(ended.stderr), (command, ended.stderr)
        return ended.stdout

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        path = f"{self._folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_WITHIN_S,
        )


def _errors(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("kraftlake: error: ")]


def logical_lines(script: str) -> list[str]:
    """The lines of a script that are no comments. Lines that end with a backslash are joined with
    the next line."""
    joined = script.replace("\\\n", " ").splitlines()
    return [line for line in joined if line.strip() and not line.lstrip().startswith("#")]


def words(line: str) -> list[str] | None:
    """kraftlake's arguments; None where the line is another command or needs a shell."""
    bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line)  # quoted text is no shell syntax
    bare = re.sub(r"(^|\s)#.*", "", bare)
    if _SHELL.search(bare):
        return None
    found = shlex.split(line, comments=True)
    return found[1:] if found and found[0] in _NAMES else None
