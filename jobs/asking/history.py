"""`kraftlake history`: how a topic, broker, principal or config got its present state.

It asks directories, whose logs are replayed, or a lake, which has the changes in
gold.metadata_changes. Both give the same words and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from jobs.asking.about import About
from jobs.clock import UTC_CLOCK, ZonedClock
from jobs.directories.looks import branches_in
from jobs.output import ProgressLine, write_json
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.metadata.redact import Redactor
from replica.timeline.branch import Branch
from replica.timeline.changes import logged_changes

CHANGES = "gold.metadata_changes"
_MS = 1000


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
    """The options of `history`. form: text, json, csv or plain csv. since, until: the times from
    (inclusive) and to (exclusive). order: see find_inputs. redactor: for directories; None keeps
    secrets."""

    about: About = field(default_factory=About)
    form: str = "text"
    clock: ZonedClock = UTC_CLOCK
    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None
    order: tuple[str, ...] = ()
    redactor: Redactor | None = None


def run(paths: Sequence[str], lake: Lake | None, options: HistoryOptions) -> int:
    """Print the changes; 0. Raises KraftlakeError."""
    if lake is None:
        _write(of_directories(paths, options), options)
    else:
        _write(of_lake(lake, options), options)
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
    is_asked = _of_the_time(options)
    for logged in logged_changes(branch, options.redactor, watch):
        write, name, (change, old, new) = logged.told
        entity = write.kind.name
        if is_asked(logged.at) and options.about.holds(entity, name):
            what = change, entity, name, old, new, logged.commitment
            place = logged.offset, logged.leader_epoch, entity, write.kind.key_text(write.key)
            row = Row(branch.cluster_id, logged.at, logged.offset, *what)
            found.append(((*place, change), row))
    return [row for _, row in sorted(found, key=lambda one: one[0])]


def of_lake(lake: Lake, options: HistoryOptions) -> Iterator[Row]:
    """The changes in a lake. Raises UsageError where the lake is not built, or lacks the
    cluster."""
    from jobs.asking.lake_history import clusters_of  # Directories need no delta-rs.
    from jobs.asking.sql_delta_rs import answer
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
    is_asked = _of_the_time(options)
    for cluster_id, at, *rest in answer(lake, (CHANGES,), query).rows:
        row = Row(cluster_id, _ms(at), *rest)
        if is_asked(row.at) and options.about.holds(row.entity, row.name):
            yield row


def _of_the_time(options: HistoryOptions) -> Callable[[int | None], bool]:
    """Whether a change's time is asked for. A change without a time is, unless a time was given."""
    since, until = (_ms(moment) for moment in (options.since, options.until))
    if since is None and until is None:
        return lambda _: True
    return lambda at: (
        at is not None and (since is None or since <= at) and (until is None or at < until)
    )


def _ms(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return round(aware.timestamp() * _MS)


def _write(rows: Iterable[Row], options: HistoryOptions) -> None:
    if options.form == "json":
        for row in rows:
            write_json(row._asdict())
        return
    from jobs.asking.answer import QueryResult, write_answer

    place = Row._fields.index("at")
    shown = (
        (*row[:place], None if row.at is None else options.clock.text(row.at), *row[place + 1 :])
        for row in rows
    )
    write_answer(QueryResult(Row._fields, shown), options.form)
