"""`kraftlake history`: the changes that led to the present state of a topic, broker, principal or
config.

It asks directories, whose logs are replayed, or a lake, which has the changes in
gold.metadata_changes. Both give the same words and columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jobs.cli.asking.about import About, KnownNames
from jobs.cli.asking.query_result import write_timed
from jobs.cli.clock import clock_of
from jobs.cli.commands.combinations import form_of
from jobs.cli.commands.happening import HistoryOptions
from jobs.cli.commands.options import lake_unless, names_in, passed_over_in
from jobs.cli.directories.given_rounds import branches_in
from jobs.cli.moments import period_of
from jobs.cli.output import ProgressLine, complain, ms_of
from jobs.cli.redacting import make_redactor
from jobs.cli.table_text import cut
from pipelines.lake import Lake
from replica.doctor.timeline.changes import ChangeWalk, LoggedChange
from replica.doctor.timeline.gaps import gaps_of
from replica.errors import UsageError
from replica.metadata.changes.naming import name_of
from replica.metadata.image.image import Image
from replica.words import listed

CHANGES = "gold.metadata_changes"
_MOST_OF_VALUE = 100
"""How many characters of a value the text shows."""


class Row(NamedTuple):
    """A change, with the columns of `kraftlake sql --question changes`."""

    cluster_id: str | None
    at: int | None
    """The time in ms since 1970 (UTC); None where the log has no time."""
    offset: int
    change: str
    entity: str
    name: str
    old: str | None
    """The old value, as JSON; None where the entity is new."""
    new: str | None
    """The new value, as JSON; None where the entity is gone."""
    commitment: str


Wanted = Callable[[int | None, str, str], bool]
"""Whether the user asks for a change: a function of its time, the kind of its entity, and the
entity's name."""


_MEANINGS = {
    "unproven": "these logs don't show whether the change was committed",
    "superseded": "never committed: the cluster has another record at that offset",
}


def run(options: HistoryOptions) -> int:
    """Prints the changes that the options ask for. Returns 0. Raises KraftlakeError."""
    form = form_of(options.json_output, options.csv, options.plain_csv)
    clock = clock_of(options.zone)
    lake = lake_unless(options.paths, options.lake, "history")
    about = About(
        options.topic, options.broker, options.principal, options.config, with_defaults=True
    )
    period = period_of(options.from_time, options.to_time)

    def is_wanted(at: int | None, entity: str, name: str) -> bool:
        return period.holds(at) and about.holds(entity, name)

    if lake is None:
        found = _of_directories(options, about, is_wanted)
    else:
        found = _of_lake(lake, options.cluster, about, is_wanted)
    if options.topic is not None:
        found = [*_since_created(options.topic, found)]
    write_timed(Row._fields, map(_short, found) if form == "text" else found, form, clock)
    if form == "text":
        for line in _legend(found):
            complain(line)
    return 0


def _short(row: Row) -> Row:
    """The change as a table shows it: long values are cut, because a broker's registration has a
    thousand characters."""
    old, new = row.old, row.new
    if old is not None and new is not None and max(len(old), len(new)) > _MOST_OF_VALUE:
        old, new = _differing(old, new)
    old, new = (one if one is None else cut(one, _MOST_OF_VALUE) for one in (old, new))
    return row._replace(old=old, new=new)


def _differing(old: str, new: str) -> tuple[str, str]:
    """`old` and `new`, both JSON. If both are objects, only the fields in which they differ."""
    before, after = json.loads(old), json.loads(new)
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return old, new
    names = [one for one in {**before, **after} if before.get(one) != after.get(one)]
    parts = ({one: held[one] for one in names if one in held} for held in (before, after))
    first, last = (json.dumps(part, separators=(",", ":"), ensure_ascii=False) for part in parts)
    return first, last


def _since_created(topic: str, found: Sequence[Row]) -> Iterator[Row]:
    """The changes of a topic, without changes of brokers' configs from before the topic was
    created."""
    created = {
        row.cluster_id: row.offset
        for row in reversed(found)
        if row.change == "topic_created" and row.name == topic
    }
    for row in found:
        if row.entity != "config" or row.offset >= created.get(row.cluster_id, 0):
            yield row


def _legend(found: Iterable[Row]) -> Iterator[str]:
    """The meaning of the words in the column commitment, where not all are `proven`."""
    used = {row.commitment for row in found}
    for word, meaning in _MEANINGS.items():
        if word in used:
            yield f"history: {word}: {meaning}"


def _of_directories(options: HistoryOptions, about: About, is_wanted: Wanted) -> list[Row]:
    """The changes in the directories' logs, in the order in which a lake has them. Lines on stderr
    say what the logs don't show. Raises UsageError where no directory has a metadata log, and for
    an unknown name."""
    redactor = make_redactor(options.keep_secrets, options.redact_key, options.show_config or ())
    progress = ProgressLine()
    found: list[Row] = []
    known, offsets = KnownNames(), []
    directories = branches_in(
        options.paths or (),
        names_in(options.order),
        options.cluster,
        progress,
        passed_over=passed_over_in(options.pass_over),
    )
    with directories as branches:
        for branch in branches:
            walk = ChangeWalk(branch, redactor, progress.show)
            found += _rows(branch.cluster_id, walk.changes(), is_wanted, known)
            for image in walk.bases:
                _add_names(known, image)
            progress.clear()
            for gap in gaps_of(branch, walk.unknown):
                complain(f"history: {gap}")
            offsets.append(f"offsets {branch.log.first_offset} to {branch.log.end_offset - 1}")
    about.refuse_unknown(known)
    if not found:
        complain(f"history: nothing of what was asked for changed in {listed(offsets)}")
    return found


def _add_names(known: KnownNames, image: Image) -> None:
    """Adds the names of the entities, except partitions, in a snapshot with which a log begins,
    because no change of the log need name them."""
    topics = image.tables["topics"].values
    for kind, key, value in image.items():
        if kind.name != "partition":
            known.add(kind.name, name_of(kind, key, value, topics))


def _rows(
    cluster_id: str | None,
    changes: Iterable[LoggedChange],
    is_wanted: Wanted,
    known: KnownNames,
) -> Iterator[Row]:
    found: list[tuple[tuple[Any, ...], Row]] = []
    for logged in changes:
        write, name, (change, old, new) = logged.named
        entity = write.kind.name
        known.add(entity, name)
        if is_wanted(logged.at, entity, name):
            what = change, entity, name, old, new, logged.commitment
            place = logged.offset, logged.leader_epoch, entity, write.kind.key_text(write.key)
            found.append(((*place, change), Row(cluster_id, logged.at, logged.offset, *what)))
    return (row for _, row in sorted(found, key=lambda one: one[0]))


def _of_lake(lake: Lake, cluster: str | None, about: About, is_wanted: Wanted) -> list[Row]:
    """The changes in a lake. Lines on stderr say what the lake doesn't know. Raises UsageError
    where the lake is not built, or lacks the cluster, and for a name that the lake doesn't know."""
    # directories need no delta-rs
    from jobs.cli.asking.lake_history import clusters_of, gaps_in, names_in_lake

    rows = _rows_of_lake(lake, cluster, about.entities())
    found = [row for row in rows if is_wanted(row.at, row.entity, row.name)]
    for cluster_id in [cluster] if cluster is not None else clusters_of(lake):
        for gap in gaps_in(lake, cluster_id):
            complain(f"history: {gap}")
    known = KnownNames()
    for entity, name in names_in_lake(lake, cluster) if about.entities() is not None else ():
        known.add(entity, name)
    about.refuse_unknown(known)
    if not found:
        complain("history: nothing of what was asked for changed in what the lake knows")
    return found


def _rows_of_lake(
    lake: Lake, cluster: str | None, entities: frozenset[str] | None
) -> Iterator[Row]:
    """The changes of entities that a lake has. entities: their kinds; None for all kinds. Raises
    UsageError where the lake is not built, or lacks the cluster."""
    from jobs.cli.asking.lake_history import clusters_of
    from jobs.cli.asking.sql_delta_rs import rows
    from pipelines.dialects import DATA_FUSION
    from pipelines.lake.tables import tables_of

    clusters_of(lake, cluster)  # refuses a lake that is not built, and a cluster that it lacks
    if CHANGES not in tables_of(lake):
        raise UsageError(f"{lake} has no {CHANGES}: run `{lake.command('build')}`")
    wanted = ["true"]
    if cluster is not None:
        wanted.append(f"cluster_id = {DATA_FUSION.cluster(cluster)}")
    if entities is not None:
        kinds = DATA_FUSION.literals(sorted(entities)) or "''"
        wanted.append(f"entity IN ({kinds})")
    query = (
        'SELECT cluster_id, at, "offset", change, entity, name, old, new, commitment '
        f"FROM {CHANGES} WHERE {' AND '.join(wanted)} "
        'ORDER BY cluster_id, "offset", leader_epoch, entity, key, change'
    )
    for cluster_id, at, *rest in rows(lake, query):
        yield Row(cluster_id, None if at is None else ms_of(at), *rest)
