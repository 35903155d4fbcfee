"""`kraftlake forget`: removes captures from a lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.cli.commands.lake import BuildOptions, ForgetOptions
from jobs.cli.interrupts import interruptible, started_spark
from jobs.cli.lake import lake_content
from jobs.cli.lake.engines import check_ready, waiting
from jobs.cli.output import complain, write_counts, write_json, write_table
from pipelines.lake import SCHEMAS, Lake, forgetting
from pipelines.lake.forgetting import Targets
from pipelines.lake.lock import locked
from pipelines.lake.schema_version import check_schema_version
from pipelines.lake.tables import tables_of
from replica.errors import UsageError
from replica.words import counted

_SHOWN = (
    "capture_id", "capture_group", "cluster_id", "node_id", "captured_at", "round_name",
    "source",
)  # fmt: skip


def run(options: ForgetOptions) -> int:
    """Shows the chosen captures or, where confirmed, removes them. Returns 0. Raises
    KraftlakeError."""
    lake, vacuum, json_output = options.lake, options.vacuum, options.json_output
    tables_of(lake)  # raises where it is no lake
    asked = Targets(frozenset(options.captures or ()), frozenset(options.clusters or ()))
    if not options.confirmed:
        return _show(_chosen(lake, asked, forgetting.begun(lake)), json_output)
    check_ready(lake, *(SCHEMAS if vacuum else ("bronze",)))
    with interruptible("forget", lambda: _again(lake, vacuum=vacuum)):
        with locked(lake, waiting("forget", lake)):
            check_schema_version(lake)
            left = forgetting.begun(lake)
            if asked | left != Targets() or not vacuum:
                _chosen(lake, asked, left)
                write_counts(_forget(lake, asked | left), json_output=json_output)
        if vacuum:
            return _leave_no_earlier_version(lake, json_output)
    complain(f"forget: now run `{lake.command('build')}`")
    complain("forget: earlier versions of the tables still hold what went: --vacuum deletes them")
    return 0


def _again(lake: Lake, *, vacuum: bool) -> str:
    """A text that says what to run after an interruption, when a part of the work may be done."""
    if forgetting.begun(lake) == Targets() and not vacuum:
        return "nothing was taken out: run the same command again"
    words = ("--yes", "--vacuum") if vacuum else ("--yes",)
    return f"run `{lake.command('forget', *words)}`, which finishes it"


def _chosen(lake: Lake, asked: Targets, left: Targets) -> list[dict[str, Any]]:
    """The rows of bronze.captures that `asked` or `left` chooses. Raises UsageError if nothing is
    chosen, and for an id that no capture has. left: the targets of an interrupted run, which may
    be gone already."""
    if asked == left == Targets():
        raise UsageError("name what to forget: --capture ID or --cluster C; see `kraftlake lake`")
    rows = lake_content.captures(lake)
    known = {row[name] for row in rows for name in ("capture_id", "capture_group")}
    unknown = sorted(asked.captures - known - left.captures)
    if unknown:
        raise UsageError(f"--capture {unknown[0]}: no such capture; `kraftlake lake` lists them")
    unknown = sorted(asked.clusters - {row["cluster_id"] for row in rows} - left.clusters)
    if unknown:
        raise UsageError(f"--cluster {unknown[0]}: the lake has no capture of it")
    targets = asked | left
    return [
        {name: row.get(name) for name in _SHOWN}
        for row in rows
        if targets.has(row["capture_id"], row["capture_group"], row["cluster_id"])
    ]


def _show(chosen: Sequence[dict[str, Any]], json_output: bool) -> int:
    if json_output:
        for row in chosen:
            write_json(row)
    else:
        write_table(_SHOWN, [tuple(row.values()) for row in chosen])
    complain(f"forget: {counted(len(chosen), 'capture')} would go; add --yes to take them out")
    return 0


def _forget(lake: Lake, targets: Targets) -> dict[str, int]:
    """Removes the captures, by Spark. Gives the number of removed rows, by table."""
    from pipelines.bronze.forget import forget
    from pipelines.delta.failures import lake_errors

    forgetting.begin(lake, targets)
    spark = started_spark("forget", lake)
    with lake_errors(lake):
        counts = forget(spark, lake, targets, lambda table: complain(f"forget: {table}"))
    forgetting.end(lake)
    return counts


def _leave_no_earlier_version(lake: Lake, json_output: bool) -> int:
    from jobs.build import bring_up_to_date_if_possible
    from pipelines import delta
    from pipelines.own_tables.stored import behind, contract_named

    write_counts(bring_up_to_date_if_possible(None, BuildOptions(lake)), json_output=json_output)
    spark = started_spark("forget", lake)
    # Files of an ingest are young, and no version needs them yet.
    with locked(lake, waiting("forget", lake)):
        for name in tables_of(lake):
            complain(f"forget: vacuum {name}")
            delta.vacuum(spark, lake, contract_named(lake, name))
    left = behind(lake)
    for name in left:
        complain(
            f"forget: {name} still has its rows from before: build it with --own, and then run "
            f"`{lake.command('forget', '--yes', '--vacuum')}` again"
        )
    return int(bool(left))
