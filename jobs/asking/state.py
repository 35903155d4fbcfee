"""`kraftlake state`: a cluster's metadata as it was at an offset or a moment, from a lake; and what
is different at another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.asking.lake_history import ClusterHistory, cluster_history
from jobs.asking.state_text import line
from jobs.moments import Moment
from jobs.output import complain, write_json, write_line, write_table
from pipelines.lake import Lake
from replica.metadata.changes import ChangeTeller, Told
from replica.metadata.image import KINDS, Read, Write, entity_of

COLUMNS = ("entity", "key", "value", "offset")
DIFF_COLUMNS = ("entity", "key", "name", "change", "old", "new")

_ORDER = {kind.name: place for place, kind in enumerate(KINDS)}


def run(
    *,
    lake: Lake,
    cluster: str | None,
    moment: Moment,
    committed_only: bool = False,
    json_output: bool = False,
) -> int:
    """Print the entities; 0. Raises KraftlakeError."""
    history = cluster_history(lake, cluster, committed_only=committed_only)
    end_offset = history.end_offset(moment)
    complain(f"state: at offset {end_offset}")
    rows = history.entities(end_offset)
    if json_output:
        for row in rows:
            write_json(dict(zip(COLUMNS, row, strict=True)))
    else:
        write_table(COLUMNS, rows)
    return 0


def run_diff(
    *,
    lake: Lake,
    cluster: str | None,
    moments: tuple[Moment, Moment],
    committed_only: bool = False,
    json_output: bool = False,
) -> int:
    """Print what is different at the second moment; 0. Raises KraftlakeError."""
    history = cluster_history(lake, cluster, committed_only=committed_only)
    a, b = (history.end_offset(moment) for moment in moments)
    complain(f"state: from offset {a} to {b}")
    for told in differences(history, a, b):
        if json_output:
            kind, key = told.write.kind, told.write.key
            values = kind.name, kind.key_text(key), told.name, *told.change
            write_json(dict(zip(DIFF_COLUMNS, values, strict=True)))
        else:
            write_line(line(told))
    return 0


def differences(history: ClusterHistory, a: int, b: int) -> Iterator[Told]:
    """The changes that make the state of end offset b out of that of a, kind by kind."""
    before: dict[tuple[str, Any], Read] = {}
    after: dict[tuple[str, Any], Read] = {}
    topic_names = {}
    for entity, name, value, is_before in history.versions_that_differ(a, b):
        read = entity_of(entity, value)
        (before if is_before else after)[entity, read.key] = read
        if entity == "partition":
            topic_names[read.key[0]] = name.rpartition("-")[0]
    writes = []
    for key in {**before, **after}:
        kind = (before.get(key) or after[key]).kind
        old, new = (one[key].value if key in one else None for one in (before, after))
        writes.append(Write(kind, key[1], old, new, 0, ""))
    writes.sort(key=lambda write: (_ORDER[write.kind.name], write.kind.order(write.key)))
    return ChangeTeller().tell(writes, topic_names)
