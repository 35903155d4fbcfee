"""The job that compacts a lake's tables, and deletes files that no kept version needs.

spark-submit starts it, and so does the command `kraftlake maintain`:

    spark-submit jobs/maintain.py --lake /data/lake --retain-days 90
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from jobs.cli.commands.lake import MaintainOptions
from jobs.cli.interrupts import interruptible, started_spark
from jobs.cli.lake.engines import check_ready, check_whole, waiting
from jobs.cli.output import complain, write_rows
from pipelines.lake import SCHEMAS
from pipelines.lake.lock import locked
from pipelines.lake.tables import tables_of
from pipelines.lineage.job_events import job_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(spark: SparkSession | None, arguments: MaintainOptions) -> int:
    """Compact each table and delete its expired files, and print what was done. With --dry-run the
    job only prints what it would do.

    spark: the session that runs OPTIMIZE and VACUUM. Where it is None, the job starts one. Returns
    0. Raises KraftlakeError.
    """
    lake = arguments.lake
    names = tables_of(lake)
    with interruptible("maintain", lambda: f"run `{lake.command('maintain')}` again"):
        if arguments.dry_run:
            check_whole(lake)
            _maintain(spark, names, arguments)
            return 0
        check_ready(lake, *SCHEMAS)
        with locked(lake, waiting("maintain", lake)):
            check_whole(lake)
            with job_events("maintain", lake, complain, run_id=arguments.run_id):
                _maintain(spark, names, arguments)
    return 0


run = partial(main, None)


def _maintain(spark: SparkSession | None, names: Sequence[str], arguments: MaintainOptions) -> None:
    from pipelines.delta.failures import lake_errors
    from pipelines.delta.upkeep import upkeep
    from pipelines.own_tables.stored import contract_named

    lake, rows = arguments.lake, []
    session = spark or started_spark("maintain", lake)
    with lake_errors(lake):
        for name in names:
            complain(f"maintain: {name}")
            days, is_dry = arguments.retain_days, arguments.dry_run
            done = upkeep(
                session, lake, contract_named(lake, name), retain_days=days, dry_run=is_dry
            )
            rows.append({"table": name, **asdict(done)})
    write_rows(rows, json_output=arguments.json_output)


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("maintain", main)
