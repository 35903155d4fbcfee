"""`kraftlake sql` without a query on a terminal: a prompt for one query after another.

A query ends with a semicolon and may have several lines. Lines that begin with a backslash are
commands of the prompt, with the names of psql's commands. Long answers are shown in a pager.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from jobs.cli.asking.query_result import EXPANDED
from jobs.cli.asking.questions import QUESTIONS
from jobs.cli.asking.sql_views import VIEWS
from jobs.cli.commands.asking import SqlOptions
from jobs.cli.output import complain, error_line, write_line
from pipelines.lake.tables import tables_of
from replica.errors import KraftlakeError

_FIRST, _GOES_ON = "lake=> ", "lake-> "
_HELP = r"""A query ends with a semicolon. Ctrl-C drops it, Ctrl-D ends the prompt.
  \d          the tables with their columns
  \q NAME     the answer to a ready-made question; \q alone lists the questions
  \x          one line for each column of a row, and back to a table
  \e ENGINE   ask delta-rs, duckdb or spark from now on
  \?          this text"""
_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "HAVING",
    "WITH", "UNION ALL", "DISTINCT", "BETWEEN", "LIKE", "count(*)",
)  # fmt: skip
_HISTORY_LINES = 1000


Run = Callable[[SqlOptions, str], int]
"""Runs the query of the options and prints the answer in a form, such as a table. Returns the exit
code."""


def prompt(options: SqlOptions, form: str, run: Run) -> int:
    """Runs queries until the input ends. Returns 0. An error of a query is a line, and the prompt
    continues.

    options: lake, engine, moment and cluster for each query. form: the form of the first answers.
    """
    tables = tables_of(options.lake)
    write_line(f"kraftlake sql on {options.lake}: {len(tables)} tables; \\? helps, Ctrl-D ends")
    with _line_editing([*tables, *(view.name for view in VIEWS), *_WORDS]):
        asking = _Asking(options, form)
        for text in _inputs():
            asking = _answered(asking, text, run)
    return 0


class _Asking(NamedTuple):
    """The options and the form for the next query."""

    options: SqlOptions
    form: str


def _answered(asking: _Asking, text: str, run: Run) -> _Asking:
    """Answers one input. Returns the options and the form for the next input."""
    try:
        if text.startswith("\\"):
            return _commanded(asking, text, run)
        with paged():
            run(replace(asking.options, query=text), asking.form)
    except KraftlakeError as error:
        error_line(str(error))
    except KeyboardInterrupt:
        complain("interrupted")
    return asking


def _commanded(asking: _Asking, text: str, run: Run) -> _Asking:
    name, *arguments = text.split()
    options = asking.options
    if name == "\\x":
        form = "text" if asking.form == EXPANDED else EXPANDED
        write_line(f"rows are shown as {'a table' if form == 'text' else 'lines, one a column'}")
        return asking._replace(form=form)
    if name == "\\e" and arguments:
        return asking._replace(options=replace(options, engine=arguments[0]))
    if name in ("\\d", "\\q"):
        with paged():
            if name == "\\d":
                run(SqlOptions(options.lake, tables=True), "text")
            elif arguments:
                run(replace(options, question=arguments[0]), asking.form)
            else:
                for one in QUESTIONS:
                    write_line(f"{one.name:18}{one.title}")
        return asking
    for line in _HELP.splitlines():
        write_line(line)
    return asking


def _inputs() -> Iterator[str]:
    """The queries without their semicolons, and the commands, until the input ends."""
    lines: list[str] = []
    while True:
        try:
            line = input(_GOES_ON if lines else _FIRST)
        except EOFError:
            write_line("")
            return
        except KeyboardInterrupt:
            lines.clear()
            write_line("^C")
            continue
        text = line.strip()
        if not lines and (text.startswith("\\") or not text):
            if text:
                yield text
            continue
        lines.append(line)
        if text.endswith(";"):
            query = "\n".join(lines).strip().rstrip(";")
            lines.clear()
            if query.strip():
                yield query


@contextmanager
def _line_editing(words: Sequence[str]) -> Iterator[None]:
    """Gives the prompt line editing, completion of `words`, and a stored history, unless Python was
    built without readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    place = history_file()
    with suppress(OSError):
        readline.read_history_file(place)
    readline.set_completer(completer(words))
    readline.set_completer_delims(" \t\n,()=<>")
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
            readline.write_history_file(place)


def completer(words: Sequence[str]) -> Callable[[str, int], str | None]:
    """A function for readline that completes words. It gives the word number `state` among the
    words that begin with a text, in upper or lower case."""

    def complete(text: str, state: int) -> str | None:
        found = [word for word in words if word.lower().startswith(text.lower())]
        return found[state] if state < len(found) else None

    return complete


def history_file() -> Path:
    """The file with the prompt's history, by the XDG base directory specification."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "kraftlake" / "sql_history"


_LESS = ("less", "-FRSX")
"""less ends by itself where the answer fits on one screen, doesn't wrap long lines, and leaves the
answer on the screen."""


def pager_command() -> list[str]:
    """The command in $PAGER, else less. Empty where neither exists, or where PAGER is empty or
    cat."""
    named = os.environ.get("PAGER")
    if named is not None:
        return [] if named.strip() in ("", "cat") else shlex.split(named)
    return list(_LESS) if shutil.which(_LESS[0]) else []


@contextmanager
def paged() -> Iterator[None]:
    """Sends the output of the block through the pager. If the user leaves the pager early, the
    answer ends without an error."""
    command = pager_command() if sys.stdout.isatty() else []
    pager = None
    with suppress(OSError):
        if command:
            pager = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)  # noqa: S603, the user's
    if pager is None or pager.stdin is None:
        yield
        return
    terminal, sys.stdout = sys.stdout, pager.stdin
    try:
        with suppress(BrokenPipeError):
            yield
    finally:
        sys.stdout = terminal
        with suppress(BrokenPipeError):
            pager.stdin.close()
        pager.wait()
