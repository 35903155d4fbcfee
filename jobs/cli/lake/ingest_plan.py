"""`kraftlake ingest --dry-run`: shows what an ingest would bring in.

Nothing is written, and neither Spark nor the lake's lock is needed. So the plan may name captures
that another ingest brings in at the same time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from jobs.cli.output import complain, time_text, write_json, write_table
from pipelines.bronze.plan import IngestPlan, NewCapture, NewRange, plan_of
from pipelines.capture.captures import Captures
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from replica.metadata.redact import Redactor
from replica.words import counted

_COLUMNS = ("node", "captured_at", "file", "bytes", "offsets", "batches")


def print_plan(
    lake: Lake,
    take: Callable[[Spool], Captures],
    redactor: Redactor | None,
    *,
    json_output: bool,
) -> IngestPlan:
    """Prints the plan, and returns it. take: reads the paths, with copies in the spool, which lies
    among the system's temporary files. Raises KraftlakeError."""
    with tempfile.TemporaryDirectory(prefix="kraftlake-") as folder:
        own = None if lake.is_remote else lake.folder
        with Spool(Path(folder, "spool"), own) as spool:
            plan = plan_of(lake, take(spool), datetime.now(UTC), redactor)
    if json_output:
        for capture in plan.captures:
            write_json(_json(capture))
    elif plan.captures:
        write_table(_COLUMNS, [row for capture in plan.captures for row in _rows(capture)])
    complain(f"ingest: dry run: {_summary(plan)}")
    return plan


def _summary(plan: IngestPlan) -> str:
    if not plan.captures and not plan.damages:
        return "nothing new: the lake has all of it"
    captures = counted(len(plan.captures), "capture")
    damages = plan.damages + sum(capture.damages for capture in plan.captures)
    damaged = f", {counted(damages, 'damaged place')}" if damages else ""
    size = f"{plan.new_bytes / 1e6:.1f} MB"
    return f"{captures}, {size} to decode{damaged}; nothing was written"


def _rows(capture: NewCapture) -> list[tuple[object, ...]]:
    """A row for each file with something new; one row without a file where no file has any."""
    head = (capture.replica.node_id, time_text(capture.captured_at))
    rows: list[tuple[object, ...]] = [
        (*head, part.file, _span(part.start, part.end), _offsets(part), part.batches)
        for part in capture.segments
    ]
    rows += [
        (*head, one.file, _span(0, one.size_bytes), _span(0, one.end_offset), None)
        for one in capture.snapshots
    ]
    return rows or [(*head, capture.directory, None, None, 0)]


def _offsets(part: NewRange) -> str:
    return _span(part.first_offset, part.end_offset)


def _span(start: int, end: int) -> str:
    """A range of offsets or bytes as text, such as `[0, 100)`: the end is exclusive."""
    return f"[{start}, {end})"


def _json(capture: NewCapture) -> dict[str, object]:
    told = asdict(capture)
    replica = told.pop("replica")
    return {**replica, **told}
