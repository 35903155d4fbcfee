"""How a command ends: its exit code and, instead of a traceback, one line on stderr."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from copy import copy
from importlib.util import find_spec
from typing import Any

import typer
from typer.models import CommandInfo

from jobs.cli.commands.parameters import run_command
from jobs.cli.memory_bound import VARIABLE, default_bound, keep_within
from jobs.cli.output import error_line
from pipelines.lake.library_text import pass_on
from replica.errors import KraftlakeError, UsageError
from replica.installation import line_that_adds

DEBUG_VARIABLE = "KRAFTLAKE_DEBUG"
FAILED = 1
USAGE = 2
TEMPORARY = 75
"""EX_TEMPFAIL of sysexits.h: the same command may succeed later without a change."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The exit code that a shell reports where a closed pipe ended a program (128 + SIGPIPE)."""
SAFETY_CODES = {"safe": 0, "nothing-to-do": 0, "unsafe": 1, "unknown": 3}
"""The exit codes of `plan` and `rehearse`, by their answers."""
CONDITIONAL = 4
"""The exit code of `plan` and `rehearse` for an answer that holds only under conditions: the change
is safe, or there is nothing to do, if they are met."""
_NO_MEMORY = (
    "there is not enough memory for this: name fewer directories at a time, "
    "or give the process more"
)
_OF_A_LAKE = "a table of the lake can't be read or written"
_ENGINES = ("deltalake", "_internal", "datafusion")
"""The top modules of the errors of delta-rs (its own module is _internal) and of DataFusion."""
_JVMS = "pipelines.spark.jvm"
_TRACEBACK = "Traceback (most recent call last):"
_EXTRA_WITH = {"pyarrow": "s3", "numba": "scan", "numpy": "scan"}
_EXTRAS_OF_THEIR_OWN = {"duckdb": "duckdb", "mcp": "mcp"}
"""Packages that have an extra of their own, with the extra's name."""
_WITHOUT_A_LAKE = (
    "capture",
    "check",
    "diff",
    "dump",
    "recover",
    "redact",
    "timeline",
    "what-happened",
)
_RAISED = re.compile(r"^[A-Za-z_][\w.]*: .+$", re.MULTILINE)


def safety_code(answer: str, *, is_conditional: bool, needs_checked: bool) -> int:
    """The exit code of `plan` and `rehearse`. A script goes on at 0, so an answer whose conditions
    nobody has checked gets another code. needs_checked: whether somebody has checked them."""
    code = SAFETY_CODES[answer]
    return CONDITIONAL if code == 0 and is_conditional and not needs_checked else code


def run(app: typer.Typer, arguments: list[str], work: Callable[[Any], int] = run_command) -> int:
    """Run `app` with these arguments. work: does what the options of a command ask for, and gives
    the exit code. Returns the exit code. Every error becomes a line on stderr."""
    try:
        code = _invoke(app, arguments, work)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _invoke(app: typer.Typer, arguments: list[str], work: Callable[[Any], int]) -> int:
    try:
        return _ran(app, arguments, work)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except SystemExit as ending:  # typer turns a closed pipe into this
        if isinstance(ending.__context__, BrokenPipeError):
            raise ending.__context__ from None
        raise
    except KraftlakeError as error:
        return _fail(str(error), _code_of(error), error)
    except OSError as error:
        return _fail(_os_text(error), FAILED, error)
    except MemoryError as error:
        return _fail(_NO_MEMORY, FAILED, error)
    except BaseException as error:  # noqa: BLE001 - users get a line, developers KRAFTLAKE_DEBUG
        return _unexpected(app, error, arguments)


def _ran(app: typer.Typer, arguments: list[str], work: Callable[[Any], int]) -> int:
    if not os.environ.get(DEBUG_VARIABLE):
        # otherwise delta-rs' errors would be backtraces of fifty lines
        os.environ["RUST_BACKTRACE"] = "0"
    if VARIABLE in os.environ:
        keep_within(default_bound())
    asked = _narrowed(app, _command(app, arguments))
    found = asked(args=arguments or ["--help"], prog_name="kraftlake", standalone_mode=False)
    if found is None or isinstance(found, int):  # --help and --version run no command.
        return found or 0
    try:
        return work(found)
    except Exception as error:
        if _JVMS in sys.modules:  # Spark was started
            from pipelines.spark.jvm import raise_if_ended

            raise_if_ended(error)
        raise


def _is_of_an_engine(error: BaseException) -> bool:
    """Whether delta-rs or DataFusion has raised the error, or has failed by a bug
    (PanicException)."""
    kind = type(error)
    return kind.__name__ == "PanicException" or kind.__module__.split(".")[0] in _ENGINES


def _code_of(error: KraftlakeError) -> int:
    if error.is_temporary:
        return TEMPORARY
    return USAGE if isinstance(error, UsageError) else FAILED


def _unexpected(app: typer.Typer, error: BaseException, arguments: list[str]) -> int:
    """Prints one line about a wrong option, a lake that an engine can't read, a package that isn't
    installed, or a bug. Returns the exit code. Raises an error again that is no Exception."""
    if _is_of_an_engine(error):
        return _fail(f"{_OF_A_LAKE}: {_in_one_line(str(error))}", FAILED, error)
    if not isinstance(error, Exception):
        raise error
    if hasattr(error, "format_message"):  # typer's - typer's errors have no public base class.
        asked = " ".join(("kraftlake", *_command(app, arguments)))
        message = " ".join(str(error.format_message()).split()).rstrip(".")
        return _fail(f"{message}; `{asked} --help` lists the options", USAGE, error)
    if isinstance(error, ImportError):
        name = (error.name or str(error)).split(".")[0]
        if name in ("jobs", "kraftlake", "pipelines", "replica"):
            return _fail(f"this command is not part of this installation ({error})", FAILED, error)
        lack = (
            "not installed" if _is_absent(name) else f"of a release without what we use ({error})"
        )
        extra = _extra_with(name, _command(app, arguments))
        return _fail(f"{name} is {lack}: {line_that_adds(extra)}", FAILED, error)
    told = f"{type(error).__name__}: {_in_one_line(str(error))}"
    return _fail(
        f"internal error, {told}; {DEBUG_VARIABLE}=1 shows where, please report it",
        FAILED,
        error,
    )


def _extra_with(name: str, command: Sequence[str]) -> str:
    """The extra that installs the module: the module's own one, if there is one; else, for a
    command that knows no lake, the smallest one; for all other commands the extra with everything
    that they need."""
    if name in _EXTRAS_OF_THEIR_OWN:
        return _EXTRAS_OF_THEIR_OWN[name]
    if command and command[0] in _WITHOUT_A_LAKE:
        return _EXTRA_WITH.get(name, "lake")
    return "lake"


def _in_one_line(text: str) -> str:
    """An error's text in one line: its first line, or the error at the end of a traceback from
    another process."""
    first = (text.splitlines() or [""])[0]
    return (_RAISED.findall(text) or [first])[-1] if first.endswith(_TRACEBACK) else first


def _is_absent(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ValueError:  # a module that a test put in its place has no spec
        return True


def _command(app: typer.Typer, arguments: list[str]) -> tuple[str, ...]:
    """The words in `arguments` that name a command, such as replica, format; empty where no command
    is named."""
    words = [word for word in arguments if not word.startswith("-")]
    if not words:
        return ()
    if words[0] in map(_name, app.registered_commands):
        return (words[0],)
    for group in app.registered_groups:
        inner = group.typer_instance
        if inner is not None and inner.info.name == words[0]:
            return (words[0], *_command(inner, arguments[arguments.index(words[0]) + 1 :]))
    return ()


def _name(command: CommandInfo) -> str:
    return command.name or command.callback.__name__  # type: ignore[union-attr]


def _narrowed(app: typer.Typer, command: tuple[str, ...]) -> typer.Typer:
    """`app` with this command alone; all of `app` where `command` is empty.

    typer makes the options of every command of an app. The options of the other commands would take
    25 ms in each start.
    """
    if not command:
        return app
    first, rest = command[0], command[1:]
    narrowed = copy(app)
    narrowed.registered_commands = [one for one in app.registered_commands if _name(one) == first]
    narrowed.registered_groups = []
    for group in app.registered_groups:
        inner = group.typer_instance
        if inner is not None and inner.info.name == first:
            one = copy(group)
            one.typer_instance = _narrowed(inner, rest)
            narrowed.registered_groups.append(one)
    return narrowed


def _fail(text: str, code: int, error: BaseException) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    pass_on()
    error_line(text)
    return code


def _os_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _abandon_stdout() -> None:
    """Close stdout, which has no reader any more, so that its buffer raises no error at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
