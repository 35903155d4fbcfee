"""The job that copies metadata directories, captures and bundles into a lake's bronze tables.

spark-submit starts it, and so does the command `kraftlake ingest`:

    spark-submit jobs/ingest.py --lake /data/lake node1/ node2/ node3/
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from jobs import build
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.cli.commands.options import names_in
from jobs.cli.interrupts import interruptible, started_spark, stop_requested
from jobs.cli.lake.engines import check_whole, runner_of, waiting
from jobs.cli.lake.hiding import Hiding
from jobs.cli.lake.progress import CommandProgress, DecodedBytes
from jobs.cli.moments import capture_moment_of
from jobs.cli.option_values import check_there
from jobs.cli.output import complain, write_counts
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import Captures, capture_paths
from pipelines.capture.grouping import parse_replica
from pipelines.capture.known import NOTHING_KNOWN, KnownCaptures
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable, refuse_foreign
from pipelines.lake.lock import locked
from pipelines.lake.redaction import keep_to_owner
from pipelines.lake.schema_version import VERSION, schema_version, write_schema_version
from pipelines.runners.chosen import Engine, chosen_engine
from replica.format.damage import Damage
from replica.words import counted

if TYPE_CHECKING:
    from deltalake import Transaction
    from pyspark.sql import SparkSession

    from pipelines.capture.captures import Round
    from pipelines.capture.shared import Sharing
    from pipelines.runners.runner import Runner

_BringIn = Callable[["Transaction | None"], dict[str, int]]
"""Ingests what is new, and gives the number of rows by table. Its argument is the micro-batch of a
stream, or None without a stream."""
_AGAIN = (
    "what was committed stays: run the same command again, which goes on and stores nothing twice"
)


def main(spark: SparkSession | None, arguments: IngestOptions) -> int:
    """Ingest the paths, and print how many rows each bronze table got. With --build, then build the
    other tables.

    spark: the session whose executors decode the logs. Where it is None, the job starts the engine
    that --engine names, and only if there is something new. Returns 0 where everything was read, 1
    where a row of bronze.damage was written without --accept-damage, or where a dry run finds a
    damaged place without decoding. Raises KraftlakeError.
    """
    lake, json_output = arguments.lake, arguments.json_output
    hiding = Hiding.of(arguments)
    options = _capture_options(arguments)
    refuse_foreign(lake)
    check_there(arguments.paths)
    if arguments.dry_run:
        return _dry_run(spark, arguments, options, hiding)
    check_writable(lake, ("bronze",))
    progress = CommandProgress("ingest", is_shown=not json_output)
    bring_in = partial(_bring_in, spark, arguments, options, hiding, progress)
    with interruptible("ingest", lambda: _AGAIN):
        counts = _followed(spark, arguments, bring_in) if arguments.is_stream else bring_in(None)
    is_damaged = counts["bronze.damage"] > 0 and not arguments.accept_damage
    if arguments.is_stream:
        write_counts(counts, json_output=json_output)
    elif arguments.then_build:
        of_build = CommandProgress("build", is_shown=not json_output)
        asked = BuildOptions(lake, engine=arguments.engine)
        with build.counts_of_others(json_output, counts):
            counts |= build.bring_up_to_date(spark, asked, of_build)
        write_counts(counts, json_output=json_output)
        build.tell_next(of_build, lake)
    else:
        write_counts(counts, json_output=json_output)
        progress.end(lake.command("build"))
    return int(is_damaged)


run = partial(main, None)


def fill(
    paths: Sequence[str], lake: Lake, order: str | None = None, *, is_shown: bool = True
) -> None:
    """Ingests the paths and builds the tables, for a command that then queries the lake. A terminal
    shows one line of progress, which is removed at the end. Files that can't be read are named on
    stderr. order: the value of --order. is_shown: whether the line of progress is shown. Raises
    KraftlakeError."""
    arguments = IngestOptions([*paths], lake, order=order)
    refuse_foreign(lake)
    check_there(paths)
    check_writable(lake, ("bronze",))
    progress = CommandProgress("ingest", is_shown=is_shown, has_lines=False)
    with interruptible("ingest", lambda: _AGAIN):
        _bring_in(None, arguments, _capture_options(arguments), Hiding(), progress, None)
    of_build = CommandProgress("build", is_shown=is_shown, has_lines=False)
    build.bring_up_to_date(None, BuildOptions(lake), of_build)


def _capture_options(arguments: IngestOptions) -> CaptureOptions:
    """The options that say when the captures were made, in which order, and of which replica.
    Raises UsageError."""
    return CaptureOptions(
        captured_at=capture_moment_of("--captured-at", arguments.captured_at),
        order=names_in(arguments.order),
        replica=None if arguments.as_replica is None else parse_replica(arguments.as_replica),
        goes_on=arguments.follow_s is not None,
    )


def _bring_in(
    spark: SparkSession | None,
    arguments: IngestOptions,
    options: CaptureOptions,
    hiding: Hiding,
    progress: CommandProgress,
    batch: Transaction | None,
) -> dict[str, int]:
    """Ingests once what is new. batch: the micro-batch of a stream; None without a stream. Gives
    the number of rows that were added or changed, by table."""
    from pipelines.bronze.captured import holds_all
    from pipelines.lineage.job_events import job_events
    from pipelines.quality.data_docs import start_great_expectations

    lake, paths = arguments.lake, arguments.paths
    with locked(lake, waiting("ingest", lake)):
        check_whole(lake)
        of_lake = hiding.of_lake(lake)
        with Spool.below(lake) as spool, ExitStack() as stack:
            # The runner comes before any row: where Spark can't start, the lake stays as it was.
            runner_in = partial(_runner, stack, spark, arguments, progress.line)
            runner_in_place = runner_in() if arguments.shared else None
            captures = _captures_below(arguments, options, of_lake, runner_in_place, spool)
            with job_events("ingest", lake, complain, paths=paths, run_id=arguments.run_id):
                if captures.is_empty or holds_all(lake, captures):
                    progress.line("ingest: nothing new: the lake has all of it")
                    counts = _no_rows()
                else:
                    if arguments.then_build:
                        start_great_expectations()
                    runner = runner_in_place or runner_in()
                    with progress.shown():
                        about = lake, of_lake, spool.root, runner, progress, batch
                        counts = _write(captures, *about)
            read = spool.bytes_read
            progress.line(f"ingest: read {_shown(read.read)} of {_shown(read.held)}")
    return counts


def _runner(
    stack: ExitStack,
    spark: SparkSession | None,
    arguments: IngestOptions,
    say: Callable[[str], None],
) -> Runner:
    engine = arguments.engine
    return stack.enter_context(runner_of("ingest", arguments.lake, engine, spark, say))


def _followed(
    spark: SparkSession | None, arguments: IngestOptions, bring_in: _BringIn
) -> dict[str, int]:
    """Ingests what is new whenever a log has changed, until SIGTERM or Ctrl-C; with --available-now
    once. Gives the sums of the row counts. Raises KraftlakeError where a path to follow can't be
    read at the start."""
    from pipelines.sources.marks import marks_of

    total, lake = Counter(_no_rows()), arguments.lake
    if spark is None and chosen_engine(arguments.engine) is Engine.SPARK:
        spark = started_spark("ingest", lake)
    if arguments.follow_s is not None:
        # a path that is wrong from the start is not a disk that comes back
        marks_of(arguments.paths)

    def work(batch: Transaction | None = None) -> None:
        if batch is None or not _holds(lake, batch):
            total.update(bring_in(batch))
        if arguments.then_build:
            build.bring_up_to_date_if_possible(spark, BuildOptions(lake, engine=arguments.engine))

    with stop_requested() as stop:
        if spark is not None:
            _stream(spark, arguments, work, stop)
        elif arguments.follow_s is None:
            work()
        else:
            from pipelines.sources.marks import follow

            follow(arguments.paths, work, arguments.follow_s, stop)
    if arguments.follow_s is not None:
        complain("ingest: stopped: run the same command again, which goes on")
    return dict(total)


def _stream(
    spark: SparkSession,
    arguments: IngestOptions,
    work: Callable[[Transaction | None], None],
    stop: threading.Event,
) -> None:
    """Follows the paths by Spark's Structured Streaming."""
    from pipelines.streaming import follow_captures

    def micro_batch(batch: Transaction, changed: int) -> None:
        complain(f"ingest: micro-batch {batch.version}: {counted(changed, 'changed log')}")
        work(batch)

    lake, paths = arguments.lake, arguments.paths
    follow_captures(spark, lake, paths, micro_batch, arguments.follow_s, stop)


def _holds(lake: Lake, batch: Transaction) -> bool:
    """Whether an earlier run of this micro-batch has ingested all of it, before it was killed. Then
    a line on stderr says so."""
    from pipelines.lake.delta_rs import open_if_there
    from pipelines.tables.bronze import CAPTURES

    table = open_if_there(lake, CAPTURES.name)
    done = None if table is None else table.transaction_version(batch.app_id)
    if done is None or done < batch.version:
        return False
    complain(f"ingest: micro-batch {batch.version}: the lake has it already")
    return True


def _dry_run(
    spark: SparkSession | None,
    arguments: IngestOptions,
    options: CaptureOptions,
    hiding: Hiding,
) -> int:
    """Prints what an ingest would bring in. Gives the exit code: 1 where a damage is known and
    --accept-damage is not given, else 0."""
    from jobs.cli.lake.ingest_plan import print_plan

    lake = arguments.lake
    check_whole(lake)
    of_lake = hiding.of_lake(lake)
    with ExitStack() as stack:
        runner_in_place = _runner(stack, spark, arguments, complain) if arguments.shared else None
        plan = print_plan(
            lake,
            partial(_captures_below, arguments, options, of_lake, runner_in_place),
            of_lake.redactor(),
            json_output=arguments.json_output,
        )
    is_damaged = bool(plan.damages or any(capture.damages for capture in plan.captures))
    return int(is_damaged and not arguments.accept_damage)


def _captures_below(
    arguments: IngestOptions,
    options: CaptureOptions,
    hiding: Hiding,
    runner_in_place: Runner | None,
    spool: Spool,
) -> Captures:
    """The captures below the paths. A line on stderr names each file or directory that can't be
    read. runner_in_place: reads directories in their place; None where they are copied."""
    known = NOTHING_KNOWN if arguments.verify else KnownCaptures(arguments.lake, hiding.seal)
    asked = replace(options, known=known, seal=hiding.seal)
    captures = capture_paths(arguments.paths, asked, spool, _sharing(runner_in_place))
    for left_out in captures.left_out:
        complain(f"ingest: left out: {left_out}")
    for damage in _all_damages(captures):
        complain(str(damage))
    return captures


def _sharing(runner_in_place: Runner | None) -> Sharing | None:
    from pipelines.bronze.findings import judge_capture
    from pipelines.capture.shared import Sharing

    return None if runner_in_place is None else Sharing(runner_in_place, judge_capture)


def _no_rows() -> dict[str, int]:
    """The counts of an ingest that found nothing new."""
    from pipelines.tables.bronze import BRONZE

    return {contract.name: 0 for contract in BRONZE}


def _shown(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _all_damages(captures: Captures) -> list[Damage]:
    of_replicas = [
        damage.in_file(capture.shown_file(damage.file))
        for groups in captures.rounds
        for group in groups
        for capture in group.captures
        for damage in capture.directory.damages
    ]
    return [*captures.damages, *of_replicas]


def _write(
    captures: Captures,
    lake: Lake,
    hiding: Hiding,
    spool: Path,
    runner: Runner,
    progress: CommandProgress,
    batch: Transaction | None,
) -> dict[str, int]:
    """Writes the captures into the lake. Gives the number of rows added or changed, by table.
    batch: a micro-batch that the commit of the last pass names."""
    from pipelines.bronze.files import new_bytes
    from pipelines.bronze.ingest import Ingest
    from pipelines.delta.failures import lake_errors
    from pipelines.lake.versions import note_written

    redaction = hiding.redaction(lake, spool)
    is_new = schema_version(lake) is None
    write_schema_version(lake)
    note_written(lake, VERSION, is_new=is_new)
    if hiding.keeps_secrets and keep_to_owner(lake):
        complain(f"ingest: {lake}: its owner's only from here on, as it will hold secrets")
    ingest = Ingest(runner, lake, redaction, lambda damage: complain(str(damage)))
    counts = Counter(_no_rows())
    now = datetime.now(UTC)
    with lake_errors(lake):
        ingest.create_tables()
        passes, done = [*captures.passes()], 0
        decoded = DecodedBytes(progress, [new_bytes(chain(*rounds)) for rounds in passes])
        for rounds in passes:
            tell = _teller(progress, done, rounds, len(captures.rounds))
            done += len(rounds)
            ends = batch if done == len(captures.rounds) else None
            counts.update(ingest.run_pass(rounds, now, tell, decoded.more, ends))
            decoded.end_pass()
        counts.update(ingest.add_damage(captures.damages))
    return counts


def _teller(
    progress: CommandProgress, done: int, rounds: Sequence[Round], of: int
) -> Callable[[str], None]:
    """A function that shows the progress of a pass. done: the number of rounds before the pass. of:
    the number of all rounds."""
    first, last = done + 1, done + len(rounds)
    which = f"round {first}" if first == last else f"rounds {first} to {last}"
    head = "ingest" if of == 1 else f"ingest: {which} of {of}"
    names = [groups[0].captures[0].round_name for groups in rounds]
    named = ", ".join(name for name in names if name is not None)
    if named:
        head = f"{head} ({named})" if of > 1 else f"{head}: {named}"
    return lambda text: progress.line(f"{head}: {text}")


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("ingest", main)
