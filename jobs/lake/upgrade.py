"""`kraftlake lake --upgrade`: the tables of a lake that an earlier release made."""

from __future__ import annotations

from dataclasses import asdict

from jobs.asking.sql_text import SCHEMAS
from jobs.interrupts import interruptible, started_spark
from jobs.lake.waiting import check_ready, waiting
from jobs.lake_tables import tables_of
from jobs.output import complain, write_rows
from pipelines.forgetting import refuse_half_forgotten
from pipelines.lake_lock import locked
from pipelines.schema_version import (
    VERSION,
    refuse_newer,
    schema_version,
    write_schema_version,
)


def run(*, lake: str, dry_run: bool = False, json_output: bool = False) -> int:
    """Upgrade the lake, or only tell what would be done; 0. Raises KraftlakeError."""
    tables_of(lake)  # says so where it is none
    check_ready(lake, *SCHEMAS)
    again = f"run `kraftlake lake --lake {lake} --upgrade` again, which does what is left"
    with interruptible("upgrade", lambda: again), locked(lake, waiting("upgrade", lake)):
        refuse_newer(lake)
        refuse_half_forgotten(lake)
        version = schema_version(lake) or VERSION
        changes = _changes(lake, version, dry_run)
    write_rows(changes, json_output=json_output)
    if dry_run:
        complain(f"upgrade: {len(changes)} changes; nothing was written")
    elif changes or version < VERSION:
        complain(f"upgrade: now run `kraftlake build --lake {lake}`")
    else:
        complain(f"upgrade: nothing to do, the lake is of schema version {VERSION}")
    return 0


def _changes(lake: str, version: int, dry_run: bool) -> list[dict[str, str]]:
    """Spark starts here."""
    from pipelines.delta import Lake
    from pipelines.delta.failures import told
    from pipelines.delta.lake_versions import note_upgraded
    from pipelines.upgrading import steps_of_an_upgrade

    spark = started_spark("upgrade", lake)
    with told(lake):
        steps = steps_of_an_upgrade(spark, Lake(lake), version)
        changes = [asdict(step.change) for step in steps]
        if dry_run or not (steps or version < VERSION):
            return changes
        # who is interrupted leaves a lake that is to be upgraded first of all
        write_schema_version(lake, min(version, VERSION - 1))
        for step in steps:
            complain(f"upgrade: {' '.join(asdict(step.change).values())}")
            step.apply()
    write_schema_version(lake)
    note_upgraded(lake, VERSION)
    return changes
