"""`kraftlake quality`: checks every table of a lake against its expectations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobs.cli.commands.lake import QualityOptions
from jobs.cli.interrupts import interruptible
from jobs.cli.lake.engines import runner_of
from jobs.cli.lake.waiting import check_whole, waiting
from jobs.cli.output import complain, write_json, write_table
from pipelines.lake.folder import check_writable
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
        results = _judged(options)
    _print(results, json_output=options.json_output)
    return int(any(not verdict.success for one in results for verdict in one.verdicts))


def _judged(options: QualityOptions) -> Sequence[TableResult]:
    from pipelines.delta.failures import told
    from pipelines.judge_lake import judge_lake
    from pipelines.lake.lock import locked_in_store
    from pipelines.lineage.job_events import job_events

    lake = options.lake
    check_lake(lake)
    check_whole(lake)
    check_writable(lake, ("gold",))
    with told(lake), locked_in_store(lake, waiting("quality", lake)):
        check_whole(lake)
        with (
            job_events("quality", lake, complain, run_id=options.run_id) as named,
            runner_of("quality", lake, options.engine) as runner,
        ):
            return judge_lake(lake, runner, lambda line: complain(f"quality: {line}"), named)


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
