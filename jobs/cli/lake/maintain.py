"""`kraftlake maintain`: compacts a lake's tables, and deletes files that no kept version needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from jobs.cli.commands.lake import MaintainOptions
from jobs.cli.interrupts import interruptible, started_spark
from jobs.cli.lake.waiting import check_ready, check_whole, waiting
from jobs.cli.output import complain, write_rows
from pipelines.lake import SCHEMAS
from pipelines.lake.lock import locked
from pipelines.lake.tables import tables_of
from pipelines.lineage.job_events import job_events


def run(options: MaintainOptions) -> int:
    """Print what was done, or would be done, to each table. Returns 0. Raises KraftlakeError."""
    lake = options.lake
    names = tables_of(lake)
    with interruptible("maintain", lambda: f"run `{lake.command('maintain')}` again"):
        if options.dry_run:
            check_whole(lake)
            _maintain(names, options)
            return 0
        check_ready(lake, *SCHEMAS)
        with locked(lake, waiting("maintain", lake)):
            check_whole(lake)
            with job_events("maintain", lake, complain, run_id=options.run_id):
                _maintain(names, options)
    return 0


def _maintain(names: Sequence[str], options: MaintainOptions) -> None:
    from pipelines.delta.failures import told
    from pipelines.delta.upkeep import upkeep
    from pipelines.tables.of_a_lake import named

    lake, rows = options.lake, []
    spark = started_spark("maintain", lake)
    with told(lake):
        for name in names:
            complain(f"maintain: {name}")
            days, is_dry = options.retain_days, options.dry_run
            done = upkeep(spark, lake, named(name), retain_days=days, dry_run=is_dry)
            rows.append({"table": name, **asdict(done)})
    write_rows(rows, json_output=options.json_output)
