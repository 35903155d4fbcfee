"""The `kraftlake` command. `jobs.cli.commands` has options and help; each command's work is in the
folder of its group.

The modules of a command are imported when it runs, so `kraftlake --help` and `kraftlake dump` load
neither pyspark nor pyarrow nor deltalake. Only `main` turns errors into lines and exit codes.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from jobs.cli.commands import (
    asking,
    copying,
    directories,
    engine,
    happening,
    lake,
    planning,
    reading,
    recovering,
    sharing,
    shell,
    simulating,
)
from jobs.cli.commands.help_pages import GroupedCommands
from jobs.cli.commands.parameters import add, run_command
from jobs.cli.interrupts import started_spark
from jobs.cli.memory_bound import run_one_command
from jobs.cli.outcome import run
from jobs.cli.output import use_utf8, write_line
from pipelines.capture import patience
from pipelines.lake.library_text import of_a_command
from pipelines.runners.chosen import Engine, chosen_engine
from replica.errors import UsageError
from replica.import_path import leave_out_current_folder
from replica.shell_text import line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

app = typer.Typer(
    name="kraftlake",
    cls=GroupedCommands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        write_line(f"kraftlake {version('kraftlake')}")
    except PackageNotFoundError:
        write_line("kraftlake (not installed: run from a checkout)")
    raise typer.Exit


@app.callback()
def _kraftlake(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The flight recorder and lakehouse of Kafka's metadata log (KRaft).

    In an incident begin with what-happened. Name the metadata directories of all nodes that you
    have. No command changes or locks what it examines, so a running node's directory is fine.
    ingest and build bring directories, of any number of nodes and moments, into Delta tables. sql
    queries these tables.

    \b
    First steps:
      kraftlake what-happened node1/ node2/    what happened, and what to do?
      kraftlake check node1/ node2/ node3/     what exactly is wrong, and where?
      kraftlake recover --plan node1/ node2/   controllers are lost: how does the quorum go on?
      kraftlake plan --stop-broker 2 node1/    is this change safe?
      kraftlake diff node1/ node2/             do these two logs agree?
      kraftlake dump /var/kafka/metadata       print the records of the log
      kraftlake demo                           try ingest, build and sql on recorded logs
      kraftlake ingest --lake lake captures/   copy the logs into a lake
      kraftlake build --lake lake              derive the lake's tables
      kraftlake sql --lake lake --tables       list the tables

    Exit codes: 0 success, 1 see the help of the command, 2 usage, 75 try again later (another
    process works on the same lake or topic, or a server doesn't answer), 130 interrupted, 141 the
    program that read the output has ended. KRAFTLAKE_DEBUG=1 shows tracebacks.
    """


_GROUPS = {
    "Directories of nodes": (
        happening.WhatHappenedOptions,
        directories.CheckOptions,
        directories.ExplainOptions,
        happening.TimelineOptions,
        directories.RecoverOptions,
        recovering.RehearseOptions,
        recovering.RestoreOptions,
        directories.DiffOptions,
        directories.DumpOptions,
        copying.CaptureOptions,
        copying.PruneOptions,
        copying.RedactOptions,
    ),
    "A lake": (
        lake.DemoOptions,
        lake.IngestOptions,
        lake.BuildOptions,
        lake.QualityOptions,
        lake.LakeOptions,
        lake.MaintainOptions,
        lake.ForgetOptions,
    ),
    "Questions to a lake, or to directories": (
        asking.SqlOptions,
        planning.PlanOptions,
        happening.HistoryOptions,
        asking.StateOptions,
    ),
    "A lake for others": (
        sharing.ReportOptions,
        sharing.ExportOptions,
        sharing.McpOptions,
        sharing.RegisterOptions,
        sharing.PublishOptions,
    ),
    "Replicas": (simulating.SimulateOptions, reading.ConsumeOptions),
    "The shell": (shell.CompletionOptions,),
}
"""The commands by their headings in the overview. Each heading but the last stands for a folder of
jobs/cli."""

for _heading, _commands in _GROUPS.items():
    for _options in _commands:
        add(app, _options, _heading)
app.add_typer(engine.replica, rich_help_panel="Replicas")


def main(arguments: list[str] | None = None, work: Callable[[Any], int] = run_command) -> NoReturn:
    """Runs the console script. work: as for jobs.cli.outcome.run."""
    leave_out_current_folder()
    leave_no_core()
    use_utf8()
    shell.answer_shells()
    run_one_command()
    with of_a_command():
        code = run(app, sys.argv[1:] if arguments is None else arguments, work)
    if patience.goes_on():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def leave_no_core() -> None:
    """Prevents core files of this process, and of the processes that it starts: their memory may
    hold credentials. A handler of cores, such as systemd-coredump, obeys the same limit."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def run_submitted(
    command: str, job: Callable[[SparkSession | None, Any], int] | None = None
) -> NoReturn:
    """Run the command of a file that spark-submit started.

    job: the job of the file, which gets the session and the options. The session is there before
    the job begins, because a cluster's manager waits for it; with --engine local there is none.
    Where `job` is None, the command starts the session when it needs one.
    """

    def work(options: Any) -> int:
        _refuse_another_checkout()
        if job is None:
            return run_command(options)
        engine = getattr(options, "engine", None)
        if options.lake is None or chosen_engine(engine) is Engine.LOCAL:
            return job(None, options)
        return job(started_spark(command, options.lake), options)

    main([command, *sys.argv[1:]], work)


def _refuse_another_checkout() -> None:
    """Raises UsageError where the file that spark-submit started is of a checkout, and Python
    imports the code of another one, or of an installation."""
    own, file = Path(__file__).parents[1], Path(sys.argv[0]).absolute()
    if (file.parent / "cli").is_dir() and own.is_dir() and not file.parent.samefile(own):
        own_code = line("export", f"PYTHONPATH={file.parents[1]}")
        raise UsageError(f"{file}: Python imports {own} in its place: run `{own_code}` first")


if __name__ == "__main__":
    main()
