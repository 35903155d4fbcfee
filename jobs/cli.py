"""The `kraftlake` command: `jobs.commands` has options and help, each command's work is in the
module of its name.

Those modules are imported when their command runs, so `kraftlake --help` and `kraftlake dump`
load neither pyspark nor pyarrow nor deltalake. `main` is the one place that turns errors into
lines and exit codes.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from jobs.commands import asking, engine, feeds, lake, logs, reading
from jobs.outcome import run
from jobs.output import use_utf8, write_line

app = typer.Typer(
    name="kraftlake",
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

    Look at one directory with dump, compare two with diff, have a cluster's checked; bring any
    number of them, from any number of nodes and moments, into Delta tables with ingest and build,
    and ask with sql. Nothing that is examined is ever changed or locked, so a running node's
    directory is fine.

    \b
    First steps:
      kraftlake demo                           the whole way, on recorded logs
      kraftlake dump /var/kafka/metadata       what the log says
      kraftlake check node1/ node2/ node3/     is anything wrong?
      kraftlake diff node1/ node2/             do these two agree?
      kraftlake ingest --lake lake captures/   keep it, and
      kraftlake build --lake lake              make the answers
      kraftlake sql --lake lake --tables       which tables there are

    Exit codes: 0 fine, 1 see the command, 2 usage, 75 try again later (another process is at work
    on the same, or the other side doesn't answer), 130 interrupted, 141 the reader of our output
    went away. KRAFTLAKE_DEBUG=1 shows tracebacks.
    """


app.command(short_help="Print the records of segments, snapshots or directories.")(logs.dump)
app.command(short_help="Compare two directories: where they part, what is lost.")(logs.diff)
app.command(short_help="Check directories: what is wrong where, what to do.")(logs.check)
app.command(short_help="Say what a finding of check means.")(logs.explain)
app.command(short_help="Plan with which replica a broken quorum goes on.")(logs.recover)
app.command(short_help="Copy running nodes' directories, with hashes.")(logs.capture)
app.command(short_help="Copy directories without their secrets.")(logs.redact)
app.command(short_help="Bring metadata directories into bronze tables.")(lake.ingest)
app.command(short_help="Make the silver and gold tables from bronze.")(lake.build)
app.command(short_help="Hold every table to what is expected of it.")(lake.quality)
app.command(short_help="Ask the tables with SQL.")(asking.sql)
app.command("lake", short_help="Show what a lake holds: captures, offsets, gaps, sizes.")(
    lake.contents
)
app.command(short_help="Compact the tables, delete what nobody may ask for.")(lake.maintain)
app.command(short_help="Take captures out of a lake, as if never ingested.")(lake.forget)
app.command(short_help="What the metadata was at an offset or a moment.")(asking.state)
app.command(short_help="Give a lake's tables names in a Hive metastore.")(lake.register)
app.command(short_help="An incident as one HTML page, the verdict first.")(lake.report)
app.command(short_help="Publish a table's changes: Kafka, files, a webhook.")(feeds.publish)
app.command(short_help="Show the whole way on recorded logs.")(lake.demo)
app.command(short_help="Log directories of named incidents; runs under faults.")(engine.simulate)
app.command(short_help="Print a partition's records, from any replica.")(reading.consume)
app.add_typer(engine.replica)


def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script."""
    use_utf8()
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))


if __name__ == "__main__":
    main()
