"""`kraftlake lake`: shows the content of a lake, and the releases that wrote it, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from jobs.cli.commands.lake import LakeOptions
from jobs.cli.lake import lake_content
from jobs.cli.lake.lake_content import HeldLog
from jobs.cli.output import ms_text, time_text, write_json, write_line, write_table
from pipelines.capture_rounds import Round
from pipelines.lake.tables import tables_of
from pipelines.spark.java import find_java
from replica.errors import UsageError

_NEEDED = ("bronze.captures", "bronze.log_batches")
_Labels = Mapping[tuple[str, datetime], str]
"""The name of each round, by its cluster and captured_at."""
_COUNTED = ("captures", "first_captured", "last_captured", "log_start_offset", "log_end_offset")

_TITLES = {"java": "the Java of Spark", "round": "rounds (captures that were taken together)"}


def run(options: LakeOptions) -> int:
    """Prints clusters, replicas, rounds, captures, tables, versions, and the Java of this machine.
    Returns 0. Raises KraftlakeError."""
    lake = options.lake
    names = tables_of(lake)
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise UsageError(
            f"--lake {lake}: it has no {' and no '.join(missing)}; run `kraftlake ingest --lake` "
            "first"
        )
    rounds = lake_content.rounds(lake)
    content: dict[str, list[dict[str, Any]]] = {
        "cluster": [_fields(one) for one in lake_content.clusters(lake)],
        "replica": [_fields(one) for one in lake_content.replicas(lake)],
        "round": [_round_fields(one) for one in rounds],
        "capture": lake_content.captures(lake),
        "table": [*lake_content.tables(lake, names)],
        "version": lake_content.versions(lake, names),
        "java": _java(),
    }
    if options.json_output:
        for kind, rows in content.items():
            for row in rows:
                write_json({"kind": kind, **row})
    else:
        labels = {(one.cluster_id, one.captured_at): _label(one) for one in rounds}
        content["round"] = [_round_text(one) for one in rounds]
        for number, (kind, rows) in enumerate(content.items()):
            title = _TITLES.get(kind, f"{kind}s")
            _write_section(title, rows, labels, is_first=not number)
    return 0


def _java() -> list[dict[str, Any]]:
    """The Java that Spark would start here; empty where it would find none."""
    try:
        java = find_java()
    except UsageError:
        return []
    return [{"version": java.version, "origin": java.origin, "home": str(java.home)}]


def _label(of: Round) -> str:
    return of.label(time_text, ms_text)


def _round_fields(of: Round) -> dict[str, Any]:
    """The round in the form of --json. captured_at is null where the time of the captures is
    unknown."""
    return {
        "cluster_id": of.cluster_id,
        "capture_group": of.capture_group,
        "round_name": of.round_name,
        "has_own_time": of.has_own_time,
        "captured_at": of.captured_at if of.has_own_time else None,
        "newest_record_at": of.newest_record_ms,
        "captures": of.captures,
    }


def _round_text(of: Round) -> dict[str, Any]:
    return {
        "cluster_id": of.cluster_id,
        "capture_group": of.capture_group,
        "round": _label(of),
        "captures": of.captures,
    }


def _fields(of: HeldLog) -> dict[str, Any]:
    held, gaps = (tuple(asdict(one) for one in ranges) for ranges in (of.held, of.gaps))
    rest = {name: getattr(of, name) for name in _COUNTED}
    return {**of.owner, **rest, "held": held, "gaps": gaps}


def _write_section(
    title: str, rows: Sequence[dict[str, Any]], labels: _Labels, *, is_first: bool
) -> None:
    if not is_first:
        write_line("")
    write_line(title)
    if not rows:
        write_line("none")
        return
    shown = [[_shown(value, row, labels) for value in row.values()] for row in rows]
    write_table(tuple(rows[0]), shown)


def _shown(value: Any, row: Mapping[str, Any], labels: _Labels) -> Any:
    if isinstance(value, datetime):
        return labels.get((row.get("cluster_id", ""), value), value)
    if isinstance(value, tuple):  # ranges of offsets
        return ", ".join(f"{one['start']} to {one['end']}" for one in value) or "none"
    return value
