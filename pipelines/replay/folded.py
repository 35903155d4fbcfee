"""The results of several parts of a replay, added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pipelines.replay.compared import COUNTS, SAMPLE
from pipelines.replay.plan import CONTENT_IDS

Row = dict[str, Any]

_SAMPLES = ("sample", "explained_sample")


def folded(rows: Iterable[Row]) -> list[Row]:
    """The rows of REPLAYED of all parts as those of one part: a row for each content of a snapshot
    compared with the log, for each two contents of one id, and for each run of the log."""
    of_one: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        run = row["base_offset"] if row["content_sha256"] is None else None
        key = *(row[name] for name in CONTENT_IDS), row["against_sha256"], run
        of_one[key].append(row)
    return [_folded(parts) for parts in of_one.values()]


def _folded(parts: list[Row]) -> Row:
    found = dict(parts[0])
    if len(parts) > 1:
        bases = [row["base_offset"] for row in parts if row["base_offset"] is not None]
        found["base_offset"] = min(bases, default=None)
        found |= {name: _sum(row[name] for row in parts) for name in COUNTS}
        found |= {name: _first(row[name] for row in parts) for name in _SAMPLES}
        refusals = [row["first_refused"] for row in parts if row["first_refused"] is not None]
        found["first_refused"] = min(refusals, key=lambda one: one["offset"], default=None)
    return found


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None where no part has a count."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _first(samples: Iterable[list[Row] | None]) -> list[Row] | None:
    """The first differences of all parts, by place; None where no part has any."""
    known = [sample for sample in samples if sample is not None]
    if not known:
        return None
    return sorted((one for sample in known for one in sample), key=_place)[:SAMPLE]


def _place(difference: Row) -> list[tuple[bool, Any]]:
    """The sort key of a difference. None sorts before all else."""
    return [(value is not None, value) for value in difference.values()]
