"""`kraftlake lake`: what a lake holds, and who wrote it, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from jobs import lake_content
from jobs.lake_content import Held, Offsets
from jobs.lake_tables import tables_of
from jobs.output import write_json, write_line, write_table
from replica.errors import UsageError

_NEEDED = ("bronze.captures", "bronze.log_batches")
_COUNTED = ("captures", "first_captured", "last_captured", "log_start_offset", "log_end_offset")


def run(*, lake: str, json_output: bool = False) -> int:
    """Print clusters, replicas, captures, tables and versions; 0. Raises KraftlakeError."""
    names = tables_of(lake)
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise UsageError(
            f"--lake {lake}: it has no {' and no '.join(missing)}; run `kraftlake ingest --lake` "
            "first"
        )
    content: dict[str, list[dict[str, Any]]] = {
        "cluster": [_fields(one) for one in lake_content.clusters(lake)],
        "replica": [_fields(one) for one in lake_content.replicas(lake)],
        "capture": lake_content.captures(lake),
        "table": [asdict(one) for one in lake_content.tables(lake, names)],
        "version": lake_content.versions(lake, names),
    }
    if json_output:
        for kind, rows in content.items():
            for row in rows:
                write_json({"kind": kind, **row})
    else:
        for number, (kind, rows) in enumerate(content.items()):
            _write_section(f"{kind}s", rows, is_first=not number)
    return 0


def _fields(of: Held) -> dict[str, Any]:
    held, gaps = (tuple(asdict(one) for one in ranges) for ranges in (of.held, of.gaps))
    rest = {name: getattr(of, name) for name in _COUNTED}
    return {**of.owner, **rest, "held": held, "gaps": gaps}


def _write_section(title: str, rows: Sequence[dict[str, Any]], *, is_first: bool) -> None:
    write_line(title if is_first else f"\n{title}")
    if not rows:
        write_line("none")
        return
    shown = [[_shown(value) for value in row.values()] for row in rows]
    write_table(tuple(rows[0]), shown)


def _shown(value: Any) -> Any:
    return _ranges_text(value) if isinstance(value, tuple) else value


def _ranges_text(ranges: Iterable[dict[str, int]]) -> str:
    return ", ".join(str(Offsets(**one)) for one in ranges) or "none"
