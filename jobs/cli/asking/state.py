"""`kraftlake state`: a cluster's metadata at an offset or a time, from a lake or from directories.
From a lake it also shows the differences between two states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from jobs.cli.asking.about import About, AskedCluster, KnownNames, asked_cluster
from jobs.cli.asking.entities import entities_at, history_of
from jobs.cli.asking.query_result import CSV, PLAIN_CSV, QueryResult, write_answer
from jobs.cli.commands.asking import StateOptions
from jobs.cli.commands.combinations import form_of
from jobs.cli.moments import Moment, either_of
from jobs.cli.option_values import check_patterns, fits
from jobs.cli.output import (
    complain,
    json_text,
    more_line,
    ms_text,
    write_json,
    write_line,
)
from jobs.cli.redacting import make_redactor
from replica.doctor.timeline.changes import LoggedChange
from replica.doctor.timeline.state import StateEntity
from replica.errors import DataError, UsageError
from replica.metadata.changes.named_changes import ChangeNamer, NamedChange
from replica.metadata.image.image import KINDS
from replica.metadata.image.partition import topic_of
from replica.metadata.image.texts import StoredEntity, entity_of
from replica.metadata.image.versions import Write
from replica.shell_text import line as command_line
from replica.words import up_to

if TYPE_CHECKING:
    from jobs.cli.asking.lake_history import ClusterHistory


COLUMNS = ("entity", "key", "value", "offset")
DIFF_COLUMNS = ("entity", "key", "name", "change", "old", "new")

_T = TypeVar("_T")
_ORDER = {kind.name: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """The entities that are shown. A field that is None or empty excludes nothing; an entity must
    match all other fields."""

    entities: tuple[str, ...] = ()
    """Patterns of kinds with * and ?; an entity must match at least one of them."""
    names: tuple[str, ...] = ()
    """Patterns of names with * and ?; an entity must match at least one of them."""
    topic: str | None = None
    """The topic of which the entities are shown (see About.topic); None for all."""

    def __post_init__(self) -> None:
        check_patterns("--entity", self.entities, _ORDER)

    def holds(self, entity: str, name: str) -> bool:
        """Whether an entity is shown. entity: its kind. name: its name for people."""
        return (
            fits(entity, self.entities)
            and fits(name, self.names)
            and About(topic=self.topic).holds(entity, name)
        )


def run(options: StateOptions) -> int:
    """Prints the entities, their differences at two moments, or the sizes, the exposure or the
    effective configs. Returns 0. Raises KraftlakeError."""
    asked = asked_cluster(options, "state")
    if options.sizes or options.exposure:
        from jobs.cli.asking import state_of_cluster  # loads the rules of health

        return state_of_cluster.run(asked, options)
    if options.effective:
        from jobs.cli.asking import effective  # loads the tables of configs

        return effective.run(asked, options)
    if options.diff is not None:
        a, b = (either_of("--diff", text) for text in options.diff)
        limit = None if options.json_output else options.limit
        return _show_differences(
            history_of(asked), a, b, limit=limit, json_output=options.json_output
        )
    return _show_entities(asked, options)


def _show_entities(asked: AskedCluster, options: StateOptions) -> int:
    redactor = make_redactor(False, options.redact_key)
    form = form_of(options.json_output, options.csv, options.plain_csv)
    wanted = EntityFilter(tuple(options.entities or ()), tuple(options.names or ()), options.topic)
    gone = DeletedTopic(options.topic)
    end_offset, held = entities_at(asked, redactor, gone.take if options.topic else None)
    complain(f"state: {up_to(end_offset)}")
    shown = _shown(held, wanted, gone)
    first = list(islice(shown, 1))  # an unknown topic is refused before anything is written
    limited = _Limited(None if form in ("json", CSV, PLAIN_CSV) else options.limit)
    of_kinds = limited.of((row[0], row) for row in chain(first, shown))
    write_answer(QueryResult(COLUMNS, of_kinds), form)
    limited.tell()
    return 0


class _Limited:
    """Shows the first entities of each kind. limit: the number for each kind; None for all."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.counts: Counter[str] = Counter()

    def of(self, things: Iterable[tuple[str, _T]]) -> Iterator[_T]:
        """The entities that are shown. things: (kind, entity) of each entity."""
        for kind, thing in things:
            self.counts[kind] += 1
            if self.limit is None or self.counts[kind] <= self.limit:
                yield thing

    def tell(self) -> None:
        """Prints how many entities of each kind are left out."""
        if self.limit is None:
            return
        for kind, count in self.counts.items():
            for text in more_line(self.limit, count):
                write_line(f"{kind}: {text}")


@dataclass
class DeletedTopic:
    """Finds the last deletion of a topic in the changes of a log. It takes the changes one by one.
    name: the topic's name; None where no topic is wanted."""

    name: str | None
    _last: LoggedChange | None = None

    def take(self, change: LoggedChange) -> None:
        """Takes the next change."""
        if change.named.change.change == "topic_deleted" and change.named.name == self.name:
            self._last = change

    def refuse(self) -> None:
        """Raises UsageError where the topic was deleted."""
        if self.name is not None and (one := self._last) is not None:
            listing = command_line("kraftlake", "history", "--topic", self.name)
            raise UsageError(
                f"--topic {self.name}: it was deleted at offset {one.offset}, {ms_text(one.at)}: "
                f"`{listing}` with the same directories lists its changes"
            )


def _shown(
    held: Iterable[StateEntity], wanted: EntityFilter, gone: DeletedTopic
) -> Iterator[Sequence[Any]]:
    """The wanted rows. Where there are none, it raises UsageError for a topic that the state
    doesn't have, and otherwise prints that there are none. gone: the topic's deletion, if there was
    one."""
    known, is_empty = KnownNames(), True
    for entity, key, name, value, offset, _ in held:
        known.add(entity, name)
        if wanted.holds(entity, name):
            is_empty = False
            yield entity, key, value, offset
    if is_empty:
        if wanted.topic not in known.topics:
            gone.refuse()
        About(topic=wanted.topic).refuse_unknown(known)
        complain("state: no entity is as asked for")


def _show_differences(
    history: ClusterHistory,
    before: Moment,
    after: Moment,
    *,
    limit: int | None,
    json_output: bool,
) -> int:
    a, b = history.end_offset(before), history.end_offset(after)
    complain(f"state: from offset {a} to {b}")
    limited = _Limited(limit)
    for told in limited.of((one.write.kind.name, one) for one in differences(history, a, b)):
        if json_output:
            kind, key = told.write.kind, told.write.key
            values = kind.name, kind.key_text(key), told.name, *told.change
            write_json(dict(zip(DIFF_COLUMNS, values, strict=True)))
        else:
            write_line(line(told))
    limited.tell()
    return 0


def differences(history: ClusterHistory, a: int, b: int) -> Iterator[NamedChange]:
    """The changes that lead from the state at end offset a to the state at end offset b, sorted by
    kind and key. Raises DataError for a value in the lake that can't be decoded."""
    from jobs.cli.asking.sql_views import HISTORY

    before: dict[tuple[str, Any], StoredEntity] = {}
    after: dict[tuple[str, Any], StoredEntity] = {}
    topic_names = {}
    for entity, name, value, is_before in history.versions_that_differ(a, b):
        try:
            read = entity_of(entity, value)
        except DataError as error:
            raise error.in_file(f"{history.lake}: {HISTORY}") from error
        (before if is_before else after)[entity, read.key] = read
        if entity == "partition":
            topic_names[read.key[0]] = topic_of(name)
    writes = []
    for key in {**before, **after}:
        kind = (before.get(key) or after[key]).kind
        old, new = (one[key].value if key in one else None for one in (before, after))
        writes.append(Write(kind, key[1], old, new, 0, ""))
    writes.sort(key=lambda write: (_ORDER[write.kind.name], write.kind.order(write.key)))
    return ChangeNamer().named(writes, topic_names)


_WIDTH = 28


def line(change: NamedChange) -> str:
    """The line of a change: its kind, the entity's name, the old and the new value.

    For an entity that stays, the line has the fields that differ. For an entity that appears or
    disappears, it has the entity's only value, if there is one; --json has all values.
    """
    found = _values(*(None if t is None else json.loads(t) for t in change.change[1:]))
    return f"{change.change.change:<{_WIDTH}}  {change.name}{'  ' if found else ''}{found}"


def _values(old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in new if old.get(name) != new[name]]
        return ", ".join(
            f"{name} {json_text(old.get(name))} -> {json_text(new[name])}" for name in names
        )
    if isinstance(old, dict) or isinstance(new, dict):
        return ""
    if old is None:
        return json_text(new)
    return f"was {json_text(old)}" if new is None else f"{json_text(old)} -> {json_text(new)}"
