"""The job that makes a lake's silver and gold tables from its bronze tables.

spark-submit starts it, and so does the command `kraftlake build`:

    spark-submit jobs/build.py --lake /data/lake
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from jobs.cli.commands.lake import BuildOptions
from jobs.cli.commands.options import PASS_OVER_NONE, passed_over_in
from jobs.cli.interrupts import interruptible, stop_requested
from jobs.cli.lake.engines import check_whole, runner_of, waiting
from jobs.cli.lake.progress import CommandProgress
from jobs.cli.output import complain, write_counts
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.tables import check_lake
from pipelines.own_tables.errors import OwnTablesError
from pipelines.runners.chosen import chosen_engine
from replica.errors import KraftlakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(spark: SparkSession | None, arguments: BuildOptions) -> int:
    """Bring the lake's tables up to date, and print the number of rows of each. With --follow this
    is repeated after each ingest, until SIGTERM or Ctrl-C.

    spark: the session whose executors derive the tables. Where it is None, the job starts the
    engine that --engine names, and only if there is something to build. Returns 0. Raises
    KraftlakeError.
    """
    if arguments.follow_s is not None:
        return _follow(spark, arguments, arguments.follow_s)
    progress = CommandProgress("build", is_shown=not arguments.json_output)
    with counts_of_others(arguments.json_output, {}):
        counts = bring_up_to_date(spark, arguments, progress)
    write_counts(counts, json_output=arguments.json_output)
    tell_next(progress, arguments.lake)
    return 0


run = partial(main, None)


def bring_up_to_date(
    spark: SparkSession | None, arguments: BuildOptions, progress: CommandProgress | None = None
) -> dict[str, int]:
    """Does what `build_tables` does, with the same parameters, and gives the same numbers of rows.
    Ctrl-C ends it with one line on stderr."""
    with interruptible("build", lambda: _again(arguments.lake)):
        return build_tables(spark, arguments, progress)


def build_tables(
    spark: SparkSession | None, arguments: BuildOptions, progress: CommandProgress | None = None
) -> dict[str, int]:
    """Brings the silver and gold tables up to date. Gives the number of rows of each.

    spark: as for `main`. progress: gets the steps and the share of the work; if None, no line with
    the share is shown. Raises OwnTablesError where only own tables weren't built, and
    KraftlakeError.
    """
    from pipelines.build import build
    from pipelines.delta.failures import lake_errors
    from pipelines.lake.lock import locked_in_store
    from pipelines.lake.passing_over import remember
    from pipelines.last_build import last_build
    from pipelines.lineage.job_events import job_events
    from pipelines.own_tables.own_build import own_build
    from pipelines.quality.data_docs import start_great_expectations

    lake, engine = arguments.lake, arguments.engine
    shown = progress or CommandProgress("build", is_shown=False)
    chosen_engine(engine)
    check_lake(lake)
    check_whole(lake)
    check_writable(lake, ("silver", "gold", "own"))
    with locked_in_store(lake, waiting("build", lake)):
        check_whole(lake)
        events = job_events("build", lake, complain, tables="bronze", run_id=arguments.run_id)
        with events as run_id:
            if arguments.pass_over is not None:
                is_none = arguments.pass_over == PASS_OVER_NONE
                remember(lake, passed_over_in(None if is_none else arguments.pass_over))
            last, own = last_build(lake), own_build(lake, arguments.own)
            is_same = last is not None and last.still_holds(lake)
            counts = dict(last.rows) if last is not None and is_same else {}
            if is_same and not own.stale():
                shown.line("build: nothing has changed since the last build")
                return own.all_counts(counts)
            with (
                runner_of("build", lake, engine, spark, shown.line) as runner,
                shown.shown(),
                lake_errors(lake),
            ):
                say = partial(_say, shown)
                if not is_same:
                    start_great_expectations()
                    counts = build(lake, runner, say, run_id, shown.share)
                own.run(runner, say, run_id)
                return own.all_counts(counts)


@contextmanager
def counts_of_others(json_output: bool, before: Mapping[str, int]) -> Iterator[None]:
    """Where own tables weren't built, prints the row counts of all other tables before the error is
    raised. before: the row counts of tables that another job has written."""
    try:
        yield
    except OwnTablesError as error:
        write_counts({**before, **error.counts}, json_output=json_output)
        raise


def bring_up_to_date_if_possible(
    spark: SparkSession | None, arguments: BuildOptions
) -> dict[str, int]:
    """Does what `build_tables` does, and gives the same numbers of rows. Where own tables weren't
    built, it prints a line instead of raising the error, and gives the numbers of the other
    tables."""
    try:
        return bring_up_to_date(spark, arguments)
    except OwnTablesError as error:
        complain(f"build: {error}")
        return error.counts


def tell_next(progress: CommandProgress, lake: Lake) -> None:
    """Prints which commands read a built lake."""
    findings = lake.command("sql", "--question", "findings")
    progress.end(f"{findings}, or {lake.command('report', '-o', 'incident.html')}")


def _say(progress: CommandProgress, line: str) -> None:
    progress.line(f"build: {line}")


def _again(lake: Lake) -> str:
    return f"what was committed stays: run `{lake.command('build')}` again"


def _follow(spark: SparkSession | None, arguments: BuildOptions, every_s: float) -> int:
    check_lake(arguments.lake)
    is_new = _has_new_own_tables(arguments)  # a later round finds no other definitions
    with stop_requested() as stop:
        while not stop.is_set():
            if is_new or _has_changed(arguments.lake):
                is_new = False
                _build_if_free(spark, arguments)
            stop.wait(every_s)
    return 0


def _has_new_own_tables(arguments: BuildOptions) -> bool:
    from pipelines.own_tables.own_build import own_build

    return bool(own_build(arguments.lake, arguments.own).stale())


def _has_changed(lake: Lake) -> bool:
    from pipelines.last_build import last_build

    check_lake(lake)
    last = last_build(lake)
    return last is None or not last.still_holds(lake)


def _build_if_free(spark: SparkSession | None, arguments: BuildOptions) -> None:
    """Builds the lake and prints the row counts. Where an error is temporary, for example because
    another process writes to the lake, it prints the error and returns: --follow tries again
    later."""
    try:
        counts = bring_up_to_date_if_possible(spark, arguments)
    except KraftlakeError as error:
        if not error.is_temporary:
            raise
        complain(f"build: {error}; trying again")
        return
    write_counts(counts, json_output=arguments.json_output)


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("build", main)
