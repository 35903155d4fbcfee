"""The `kraftlake` command. `jobs.commands` has options and help; each command's work is in the
folder of its group.

The modules of a command are imported when it runs, so `kraftlake --help` and `kraftlake dump` load
neither pyspark nor pyarrow nor deltalake. Only `main` turns errors into lines and exit codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NoReturn

import typer

from jobs.commands import (
    asking,
    directories,
    engine,
    happening,
    lake,
    planning,
    reading,
    recovering,
    sharing,
    shell,
)
from jobs.commands.help_pages import CommandPage, GroupedCommands
from jobs.outcome import run
from jobs.output import use_utf8, write_line
from pipelines.capture import patience

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

    dump shows what a directory holds, diff compares two, and check judges all directories of a
    cluster. ingest and build bring directories, of any number of nodes and moments, into Delta
    tables, and sql asks these. No command changes or locks what it examines, so a running node's
    directory is fine.

    \b
    First steps:
      kraftlake demo                           try ingest, build and sql on recorded logs
      kraftlake dump /var/kafka/metadata       print the records of the log
      kraftlake check node1/ node2/ node3/     is anything wrong?
      kraftlake timeline node1/ node2/ node3/  what happened when?
      kraftlake diff node1/ node2/             do these two logs agree?
      kraftlake ingest --lake lake captures/   copy the logs into a lake
      kraftlake build --lake lake              derive the lake's tables
      kraftlake sql --lake lake --tables       list the tables

    Exit codes: 0 fine, 1 see the command, 2 usage, 75 try again later (another process works on
    the same lake or topic, or a server doesn't answer), 130 interrupted, 141 the program that read
    the output has ended. KRAFTLAKE_DEBUG=1 shows tracebacks.
    """


@dataclass(frozen=True, slots=True)
class _Command:
    """A line of the overview. name: None for the function's name. short_help: the text of that
    line."""

    run: Callable[..., int]
    short_help: str
    name: str | None = None


_GROUPS = {
    "Directories of nodes": (
        _Command(directories.dump, "Print the records of segments, snapshots or directories."),
        _Command(directories.diff, "Compare two directories: where they diverge, what is lost."),
        _Command(directories.check, "Check directories: what is wrong, in which file, what to do."),
        _Command(happening.timeline, "List events by clock time; elections with probable causes."),
        _Command(directories.explain, "Explain a finding of check, and what to do about it."),
        _Command(directories.recover, "Plan which replica a broken quorum should continue from."),
        _Command(recovering.rehearse, "Simulate a start of captured directories: leader, losses."),
        _Command(recovering.restore, "Make a checkpoint that boots a new cluster as the old one."),
        _Command(directories.capture, "Copy the directories of running nodes, with hashes."),
        _Command(directories.prune, "Delete captures that are older than a given age."),
        _Command(directories.redact, "Copy directories without their secrets."),
    ),
    "A lake": (
        _Command(lake.demo, "Ingest recorded logs, build the tables, ask some questions."),
        _Command(lake.ingest, "Copy metadata directories into bronze tables."),
        _Command(lake.build, "Derive the silver and gold tables from bronze."),
        _Command(lake.quality, "Check every table against its expectations."),
        _Command(lake.contents, "Show what a lake holds: captures, offsets, gaps, sizes.", "lake"),
        _Command(lake.maintain, "Compact the tables, delete files of expired versions."),
        _Command(lake.forget, "Remove captures from a lake, as if never ingested."),
    ),
    "Questions to a lake": (
        _Command(asking.sql, "Query the tables with SQL."),
        _Command(planning.plan, "Is a change safe? Brokers, voters, partitions, upgrades."),
        _Command(happening.history, "List the changes of a topic, broker, principal or config."),
        _Command(asking.state, "Show a cluster's metadata at an offset or a moment."),
    ),
    "A lake for others": (
        _Command(sharing.report, "Write an incident as one HTML file, the verdict first."),
        _Command(sharing.export, "Write tables or answers as DuckDB, SQLite, Parquet or CSV."),
        _Command(sharing.mcp, "Serve a lake or directories to assistants and editors (MCP)."),
        _Command(sharing.register, "Give a lake's tables names in a Hive metastore."),
        _Command(sharing.publish, "Publish a table's changes: Kafka, files, a webhook."),
    ),
    "Replicas": (
        _Command(engine.simulate, "Write logs of named incidents; run the engine under faults."),
        _Command(reading.consume, "Print the records of a partition, read from any replica."),
    ),
    "The shell": (_Command(shell.completion, "Complete commands in bash, zsh or fish."),),
}
"""The overview, by headings. The folders of jobs/ are the groups before the last."""

for _heading, _commands in _GROUPS.items():
    for _one in _commands:
        app.command(
            _one.name, cls=CommandPage, short_help=_one.short_help, rich_help_panel=_heading
        )(_one.run)
app.add_typer(engine.replica, rich_help_panel="Replicas")


def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script."""
    use_utf8()
    shell.answer_shells()
    code = run(app, sys.argv[1:] if arguments is None else arguments)
    if patience.goes_on():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
