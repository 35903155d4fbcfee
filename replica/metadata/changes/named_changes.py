"""The changes that a replay writes, with the names of their entities. A new topic's change also
holds the id of the deleted topic that had its name."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from replica.metadata.changes.catalogue import Change
from replica.metadata.changes.naming import name_of
from replica.metadata.changes.typed import changes_of
from replica.metadata.image.versions import Write


class NamedChange(NamedTuple):
    """A change with the entity's name for people."""

    write: Write
    name: str
    change: Change


def topic_names_around(writes: Sequence[Write], now: Mapping[str, str]) -> Mapping[str, str]:
    """Topic names by id: of the topics that exist now (`now`), and of the topics that the writes
    delete."""
    gone = _gone(writes)
    return ChainMap(gone, cast(dict[str, str], now)) if gone else now


def _gone(writes: Sequence[Write]) -> dict[str, str]:
    if len(writes) == 1 and writes[0].new is not None:
        return {}  # a shortcut for the usual case
    return {w.key: w.old for w in writes if w.kind.table == "topics" and w.new is None}


class ChangeNamer:
    """Gives changes the names of their entities. It remembers the ids of deleted topics by name,
    because a topic of the same name may be created again."""

    def __init__(self, former: Mapping[str, str] | None = None) -> None:
        """former: the property `former` of another log's namer, if this log branches off that
        log."""
        self._former: dict[str, str] = dict(former or {})

    @property
    def former(self) -> Mapping[str, str]:
        """Topic name -> the id of the last deleted topic with this name, by the deletions given to
        `named` or remembered by a former namer."""
        return self._former

    def named(
        self, writes: Sequence[Write], topic_names: Mapping[str, str]
    ) -> Iterator[NamedChange]:
        """The named changes of writes that became visible together. topic_names: see
        topic_names_around."""
        for topic_id, name in _gone(writes).items():
            self._former[name] = topic_id
        for write in writes:
            changes = changes_of(write.kind, write.key, write.old, write.new)
            if write.kind.name == "topic":
                changes = [self._recreated(write, change) for change in changes]
            if changes:
                value = write.old if write.new is None else write.new
                name = name_of(write.kind, write.key, value, topic_names)
                for change in changes:
                    yield NamedChange(write, name, change)

    def _recreated(self, write: Write, change: Change) -> Change:
        former = self._former.get(write.new) if write.old is None else None
        if former is None or former == write.key:
            return change
        return Change("topic_recreated", write.kind.value_text(former, write.new), change.new)
