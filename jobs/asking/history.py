"""`kraftlake history`: how a topic, broker, principal or config got its present state.

It asks directories, whose logs are replayed, or a lake, which has the changes in
gold.metadata_changes. Both give the same words and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.asking.about import About
from jobs.asking.query_result import write_timed
from jobs.clock import UTC_CLOCK, ZonedClock
from jobs.directories.looks import branches_in
from jobs.moments import ALWAYS, Period
from jobs.output import ProgressLine, ms_of
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.metadata.redact import Redactor
from replica.timeline.branch import Branch
from replica.timeline.changes import logged_changes

CHANGES = "gold.metadata_changes"


class Row(NamedTuple):
    """A change, with the columns of `kraftlake sql --question changes`. at: ms since the epoch,
    None where the log has no time. old, new: JSON."""

    cluster_id: str | None
    at: int | None
    offset: int
    change: str
    entity: str
    name: str
    old: str | None
    new: str | None
    commitment: str


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The options of `history`. form: text, json, csv or plain csv. order: see find_inputs.
    redactor: for directories; None keeps secrets."""

    about: About = field(default_factory=About)
    form: str = "text"
    clock: ZonedClock = UTC_CLOCK
    period: Period = ALWAYS
    cluster: str | None = None
    order: tuple[str, ...] = ()
    redactor: Redactor | None = None


def run(paths: Sequence[str], lake: Lake | None, options: HistoryOptions) -> int:
    """Print the changes; 0. Raises KraftlakeError."""
    found = of_directories(paths, options) if lake is None else of_lake(lake, options)
    write_timed(Row._fields, found, options.form, options.clock)
    return 0


def of_directories(paths: Sequence[str], options: HistoryOptions) -> list[Row]:
    """The changes in the directories' logs, in the order in which a lake has them. Raises
    UsageError where no directory has a metadata log."""
    progress = ProgressLine()
    with branches_in(paths, options.order, options.cluster, progress) as branches:
        found = [row for branch in branches for row in _of_branch(branch, options, progress.show)]
    progress.clear()
    return found


def _of_branch(branch: Branch, options: HistoryOptions, watch: Callable[[str], None]) -> list[Row]:
    found: list[tuple[tuple[Any, ...], Row]] = []
    for logged in logged_changes(branch, options.redactor, watch):
        write, name, (change, old, new) = logged.told
        entity = write.kind.name
        if options.period.holds(logged.at) and options.about.holds(entity, name):
            what = change, entity, name, old, new, logged.commitment
            place = logged.offset, logged.leader_epoch, entity, write.kind.key_text(write.key)
            row = Row(branch.cluster_id, logged.at, logged.offset, *what)
            found.append(((*place, change), row))
    return [row for _, row in sorted(found, key=lambda one: one[0])]


def of_lake(lake: Lake, options: HistoryOptions) -> Iterator[Row]:
    """The changes in a lake. Raises UsageError where the lake is not built, or lacks the
    cluster."""
    from jobs.asking.lake_history import clusters_of  # Directories need no delta-rs.
    from jobs.asking.sql_delta_rs import rows
    from jobs.asking.sql_views import literal
    from pipelines.lake.tables import tables_of

    names = clusters_of(lake)
    if options.cluster is not None and options.cluster not in names:
        raise UsageError(f"--cluster {options.cluster}: the lake has {', '.join(names)}")
    if CHANGES not in tables_of(lake):
        raise UsageError(f"{lake} has no {CHANGES}: run `kraftlake build --lake {lake}`")
    wanted = ["true"]
    if options.cluster is not None:
        wanted.append(f"cluster_id = {literal(options.cluster)}")
    entities = options.about.entities()
    if entities is not None:
        kinds = ", ".join(map(literal, sorted(entities))) or "''"
        wanted.append(f"entity IN ({kinds})")
    query = (
        'SELECT cluster_id, at, "offset", change, entity, name, old, new, commitment '  # noqa: S608
        f"FROM {CHANGES} WHERE {' AND '.join(wanted)} "
        'ORDER BY cluster_id, "offset", leader_epoch, entity, key, change'
    )
    for cluster_id, at, *rest in rows(lake, query):
        row = Row(cluster_id, None if at is None else ms_of(at), *rest)
        if options.period.holds(row.at) and options.about.holds(row.entity, row.name):
            yield row
