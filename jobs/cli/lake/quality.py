"""`kraftlake quality`: checks every table of a lake against its expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.cli.commands.lake import QualityOptions
from jobs.cli.interrupts import interruptible, started_spark
from jobs.cli.lake.waiting import check_ready, check_whole, waiting
from jobs.cli.output import complain, write_json, write_table
from pipelines.lake import Lake
from pipelines.lake.tables import check_lake

if TYPE_CHECKING:
    from pipelines.quality.verdicts import TableResult


def run(options: QualityOptions) -> int:
    """Check the lake's tables and print the results. Returns 0, or 1 where an expectation is
    broken.

    Nothing is derived or quarantined; the results go to the lake. Raises KraftlakeError.
    """
    again = f"run `{options.lake.command('quality')}` again"
    with interruptible("quality", lambda: again):
        results = _judged(options.lake, options.run_id)
    _print(results, json_output=options.json_output)
    return int(any(not verdict.success for one in results for verdict in one.verdicts))


def _judged(lake: Lake, run_id: str | None) -> list[TableResult]:
    from pipelines.delta import exists
    from pipelines.delta.failures import told
    from pipelines.lake.lock import locked_in_store
    from pipelines.lineage.job_events import job_events
    from pipelines.tables.bronze import BRONZE

    check_lake(lake)
    check_whole(lake)
    check_ready(lake, "gold")
    spark = started_spark("quality", lake)
    from pipelines.quality.gate import Gate
    from pipelines.quality.suites import SUITES

    with told(lake), locked_in_store(lake, waiting("quality", lake)):
        check_whole(lake)
        built = [
            suite.contract
            for suite in SUITES.values()
            if suite.contract not in BRONZE and exists(lake, suite.contract)
        ]
        with (
            job_events("quality", lake, complain, run_id=run_id) as named,
            Gate(spark, lake, lambda line: complain(f"quality: {line}"), named) as gate,
        ):
            for schema in ("bronze", "silver", "gold"):
                gate.judge([one for one in (*BRONZE, *built) if one.schema_name == schema])
    return gate.results


def _print(results: list[TableResult], *, json_output: bool) -> None:
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
