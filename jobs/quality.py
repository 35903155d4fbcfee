"""The job that checks every table of a lake against its expectations.

spark-submit starts it, and so does the command `kraftlake quality`:

    spark-submit jobs/quality.py --lake /data/lake
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from jobs.cli.commands.lake import QualityOptions
from jobs.cli.interrupts import interruptible
from jobs.cli.lake.engines import check_whole, runner_of, waiting
from jobs.cli.output import complain, write_json, write_table
from pipelines.lake.folder import check_writable
from pipelines.lake.tables import check_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.quality.table_results import TableResult


def main(spark: SparkSession | None, arguments: QualityOptions) -> int:
    """Check the lake's tables, and print the results. Nothing is derived or quarantined; the
    results go to the lake.

    spark: the session whose executors judge the rows. Where it is None, the job starts the engine
    that --engine names. Returns 0, or 1 where an expectation is broken. Raises KraftlakeError.
    """
    from pipelines.delta.failures import lake_errors
    from pipelines.judge_lake import judge_lake
    from pipelines.lake.lock import locked_in_store
    from pipelines.lineage.job_events import job_events
    from pipelines.own_tables.definitions import own_tables
    from pipelines.own_tables.errors import OwnTablesError
    from pipelines.own_tables.own_quality import judge_own

    lake = arguments.lake
    with interruptible("quality", lambda: f"run `{lake.command('quality')}` again"):
        check_lake(lake)
        check_whole(lake)
        check_writable(lake, ("gold",))
        with lake_errors(lake), locked_in_store(lake, waiting("quality", lake)):
            check_whole(lake)
            with (
                job_events("quality", lake, complain, run_id=arguments.run_id) as run_id,
                runner_of("quality", lake, arguments.engine, spark) as runner,
            ):
                tables, problems = own_tables(lake, arguments.own)
                own = partial(judge_own, lake, runner, tables, problems)
                results = judge_lake(
                    lake, runner, lambda line: complain(f"quality: {line}"), run_id, own
                )
    _print(results, json_output=arguments.json_output)
    if problems:
        raise OwnTablesError(problems, {})
    return int(any(not verdict.success for one in results for verdict in one.verdicts))


run = partial(main, None)


def _print(results: Sequence[TableResult], *, json_output: bool) -> None:
    if json_output:
        for one in results:
            for verdict in one.verdicts:
                write_json({"table": one.table.name, "version": one.version, **verdict.fields})
        return
    rows = [
        (
            one.table.name,
            one.verdicts[0].evaluated_rows,
            len(one.verdicts),
            sum(not verdict.success for verdict in one.verdicts),
        )
        for one in results
    ]
    write_table(("table", "rows", "expectations", "broken"), rows)


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("quality", main)
