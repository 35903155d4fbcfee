"""The `kraftlake` command. `jobs.commands` has options and help; each command's work is in the
folder of its group.

The modules of a command are imported when it runs, so `kraftlake --help` and `kraftlake dump` load
neither pyspark nor pyarrow nor deltalake. Only `main` turns errors into lines and exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from jobs.commands import (
    asking,
    directories,
    engine,
    happening,
    lake,
    planning,
    reading,
    rehearsing,
    restoring,
    sharing,
    shell,
    state,
)
from jobs.outcome import run
from jobs.output import use_utf8, write_line


class _GroupedCommands(TyperGroup):
    """Shows each command below the heading of its group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each heading with its commands, and what each is for in its own column."""
        rows: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name, command in self.commands.items():
            short_help = command.get_short_help_str(formatter.width - width - 4)
            heading = str(getattr(command, "rich_help_panel", ""))
            rows.setdefault(heading, []).append((name.ljust(width), short_help))
        for heading, commands in rows.items():
            with formatter.section(heading):
                formatter.write_dl(commands)


app = typer.Typer(
    name="kraftlake",
    cls=_GroupedCommands,
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
      kraftlake demo                           the whole way, on recorded logs
      kraftlake dump /var/kafka/metadata       what the log says
      kraftlake check node1/ node2/ node3/     is anything wrong?
      kraftlake timeline node1/ node2/ node3/  what happened when?
      kraftlake diff node1/ node2/             do these two agree?
      kraftlake ingest --lake lake captures/   keep it, and
      kraftlake build --lake lake              make the answers
      kraftlake sql --lake lake --tables       which tables there are

    Exit codes: 0 fine, 1 see the command, 2 usage, 75 try again later (another process is at work
    on the same, or the other side doesn't answer), 130 interrupted, 141 the reader of our output
    went away. KRAFTLAKE_DEBUG=1 shows tracebacks.
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
        _Command(directories.diff, "Compare two directories: where they part, what is lost."),
        _Command(directories.check, "Check directories: what is wrong where, what to do."),
        _Command(happening.timeline, "Tell what happened by clock time, and probably why."),
        _Command(directories.explain, "Say what a finding of check means."),
        _Command(directories.recover, "Plan with which replica a broken quorum goes on."),
        _Command(rehearsing.rehearse, "Run captured directories on: who leads, what is lost."),
        _Command(restoring.restore, "Make what a new cluster boots from with old metadata."),
        _Command(directories.capture, "Copy running nodes' directories, with hashes."),
        _Command(directories.prune, "Take captures away that are older than they need be."),
        _Command(directories.redact, "Copy directories without their secrets."),
    ),
    "A lake": (
        _Command(lake.demo, "Show the whole way on recorded logs."),
        _Command(lake.ingest, "Bring metadata directories into bronze tables."),
        _Command(lake.build, "Make the silver and gold tables from bronze."),
        _Command(lake.quality, "Hold every table to what is expected of it."),
        _Command(lake.contents, "Show what a lake holds: captures, offsets, gaps, sizes.", "lake"),
        _Command(lake.maintain, "Compact the tables, delete what nobody may ask for."),
        _Command(lake.forget, "Take captures out of a lake, as if never ingested."),
    ),
    "Questions to a lake": (
        _Command(asking.sql, "Ask the tables with SQL."),
        _Command(planning.plan, "Is a change safe? Brokers, voters, partitions, upgrades."),
        _Command(happening.history, "The changes of a topic, broker, principal or config."),
        _Command(state.state, "What the metadata was at an offset or a moment."),
    ),
    "A lake for others": (
        _Command(sharing.report, "An incident as one HTML page, the verdict first."),
        _Command(sharing.export, "Tables or answers as DuckDB, SQLite, Parquet or CSV."),
        _Command(sharing.mcp, "Serve a lake or directories to assistants and editors (MCP)."),
        _Command(sharing.register, "Give a lake's tables names in a Hive metastore."),
        _Command(sharing.publish, "Publish a table's changes: Kafka, files, a webhook."),
    ),
    "Replicas": (
        _Command(engine.simulate, "Log directories of named incidents; runs under faults."),
        _Command(reading.consume, "Print a partition's records, from any replica."),
    ),
    "The shell": (_Command(shell.completion, "Complete commands in bash, zsh or fish."),),
}
"""The overview, by headings. The folders of jobs/ are these groups."""

for _heading, _commands in _GROUPS.items():
    for _one in _commands:
        app.command(_one.name, short_help=_one.short_help, rich_help_panel=_heading)(_one.run)
app.add_typer(engine.replica, rich_help_panel="Replicas")


def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script."""
    use_utf8()
    shell.answer_shells()
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))


if __name__ == "__main__":
    main()
