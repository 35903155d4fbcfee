"""`kraftlake build`: makes a lake's silver and gold tables from its bronze tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.cli.commands.lake import BuildOptions
from jobs.cli.interrupts import interruptible, told_to_stop
from jobs.cli.lake.engines import runner_of
from jobs.cli.lake.progress import CommandProgress
from jobs.cli.lake.waiting import check_whole, waiting
from jobs.cli.output import complain, write_counts
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.tables import check_lake
from pipelines.runners.chosen import chosen_engine
from replica.errors import KraftlakeError

if TYPE_CHECKING:
    from pipelines.runners.runner import Runner


def run(options: BuildOptions) -> int:
    """Build the lake, once or until SIGTERM or Ctrl-C whenever bronze has changed, and print the
    number of rows of each table. Returns 0. Raises KraftlakeError."""
    lake, json_output = options.lake, options.json_output
    if options.follow_s is None:
        progress = CommandProgress("build", is_shown=not json_output)
        write_counts(
            run_build(lake, options.run_id, progress, options.engine), json_output=json_output
        )
        tell_next(progress, lake)
        return 0
    with told_to_stop() as stop:
        while not stop.is_set():
            if _has_changed(lake):
                _build_if_free(lake, options.engine, json_output=json_output)
            stop.wait(options.follow_s)
    return 0


def _has_changed(lake: Lake) -> bool:
    from pipelines.last_build import last_build

    check_lake(lake)
    last = last_build(lake)
    return last is None or not last.still_holds(lake)


def _build_if_free(lake: Lake, engine: str | None, *, json_output: bool) -> None:
    """Build, if no other writer is at work; otherwise the next look builds."""
    try:
        write_counts(run_build(lake, engine=engine), json_output=json_output)
    except KraftlakeError as error:
        if not error.is_temporary:
            raise
        complain(f"build: {error}; trying again")


def tell_next(progress: CommandProgress, lake: Lake) -> None:
    """Say which commands read a built lake."""
    findings = lake.command("sql", "--question", "findings")
    progress.end(f"{findings}, or {lake.command('report', '-o', 'incident.html')}")


def run_build(
    lake: Lake,
    run_id: str | None = None,
    progress: CommandProgress | None = None,
    engine: str | None = None,
) -> dict[str, int]:
    """Call `build_tables`. Ctrl-C ends it with one line."""
    with interruptible("build", lambda: _again(lake)):
        return build_tables(lake, run_id, progress, engine)


def build_tables(
    lake: Lake,
    run_id: str | None = None,
    progress: CommandProgress | None = None,
    engine: str | None = None,
) -> dict[str, int]:
    """Rows by table. progress: None for one without a line of its own on a terminal. engine: that
    of --engine. Raises KraftlakeError."""
    from pipelines.lake.lock import locked_in_store
    from pipelines.last_build import last_build
    from pipelines.lineage.job_events import job_events
    from pipelines.quality.data_docs import start_great_expectations

    progress = progress or CommandProgress("build", is_shown=False)
    chosen_engine(engine)
    check_lake(lake)
    check_whole(lake)
    check_writable(lake, ("silver", "gold"))
    with locked_in_store(lake, waiting("build", lake)):
        check_whole(lake)
        with job_events("build", lake, complain, tables="bronze", run_id=run_id) as named:
            last = last_build(lake)
            if last is not None and last.still_holds(lake):
                complain("build: nothing has changed since the last build")
                return dict(last.rows)
            start_great_expectations()
            with runner_of("build", lake, engine) as runner, progress.shown():
                return _build(lake, runner, named, progress)


def _build(lake: Lake, runner: Runner, run_id: str, progress: CommandProgress) -> dict[str, int]:
    from pipelines.build import build
    from pipelines.delta.failures import told

    def tell(line: str) -> None:
        progress.line(f"build: {line}")

    with told(lake):
        return build(lake, runner, tell, run_id, progress.share)


def _again(lake: Lake) -> str:
    return f"what was committed stays: run `{lake.command('build')}` again"
