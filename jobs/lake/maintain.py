"""`kraftlake maintain`: compacts a lake's tables, and deletes files that no kept version needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from jobs.interrupts import interruptible, started_spark
from jobs.lake.waiting import check_ready, check_whole, waiting
from jobs.output import complain, write_rows
from pipelines.lake import SCHEMAS, Lake
from pipelines.lake.lock import locked
from pipelines.lake.tables import tables_of
from pipelines.lineage.job_events import job_events

if TYPE_CHECKING:
    from pipelines.delta.upkeep import Upkeep


def run(
    *,
    lake: Lake,
    retain_days: int = 0,
    dry_run: bool = False,
    run_id: str | None = None,
    json_output: bool = False,
) -> int:
    """Print what was done, or would be done, to each table. Returns 0. Raises KraftlakeError.

    retain_days: keep removed files longer than the tables promise. run_id: a UUID, for lineage.
    """
    names = tables_of(lake)
    with interruptible("maintain", lambda: f"run `kraftlake maintain --lake {lake}` again"):
        if dry_run:
            check_whole(lake)
            _print(_upkeep(lake, names, retain_days, dry_run=True), json_output=json_output)
            return 0
        check_ready(lake, *SCHEMAS)
        with locked(lake, waiting("maintain", lake)):
            check_whole(lake)
            with job_events("maintain", lake, complain, run_id=run_id):
                _print(_upkeep(lake, names, retain_days, dry_run=False), json_output=json_output)
    return 0


def _upkeep(
    lake: Lake, names: tuple[str, ...], retain_days: int, *, dry_run: bool
) -> Iterator[tuple[str, Upkeep]]:
    from pipelines.delta.failures import told
    from pipelines.delta.upkeep import upkeep
    from pipelines.lake.delta_rs import open_table

    spark = started_spark("maintain", lake)
    with told(lake):
        for name in names:
            complain(f"maintain: {name}")
            open_table(lake.table_uri(name))  # This refuses a log that names files elsewhere.
            path = lake.path(*name.split("."))
            yield name, upkeep(spark, path, retain_days=retain_days, dry_run=dry_run)


def _print(done: Iterator[tuple[str, Upkeep]], *, json_output: bool) -> None:
    write_rows([{"table": name, **asdict(one)} for name, one in done], json_output=json_output)
