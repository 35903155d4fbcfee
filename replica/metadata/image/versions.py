"""The versions of entities that a replay makes: for each record, the entities before and after it.

    replay = VersionedReplay()
    for offset, record in records:
        for write in replay.apply(offset, record): ...

A transaction gives its writes at END, one for each entity. An aborted transaction gives no writes.
Writes of voters and kraft.version come at once, because they aren't part of transactions.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from replica.metadata.image.image import EMPTY, KINDS, Image
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.replay import MARKERS, Refusal, Replay, ReplayedRecord
from replica.metadata.image.state import EntityTable, State
from replica.metadata.record import MetadataRecord

_END = MARKERS[1]


class Write(NamedTuple):
    """An entity before and after a record. `old` and `new` may be equal, because a record may
    repeat the current value. If several records of a transaction write the entity, `offset` and
    `record_type` belong to the last of them."""

    kind: EntityKind
    key: Any
    old: Any
    """The entity's value before the record, as State's tables hold it; None if the entity did not
    exist."""
    new: Any
    """The entity's value after the record, as State's tables hold it; None if the entity doesn't
    exist."""
    offset: int
    """The offset of the record that wrote the entity."""
    record_type: str
    """The type of the record that wrote the entity."""


_Touched = list[tuple[EntityKind, Hashable, Any, int, str]]


class _WatchedTable(EntityTable[Any, Any]):
    """A table that writes the old value into a journal before each put and drop. Its copies share
    the journal."""

    __slots__ = ("_journal", "_kind")

    def __init__(
        self,
        values: dict[Any, Any],
        offsets: dict[Any, int],
        kind: EntityKind,
        journal: list[tuple[EntityKind, Hashable, Any]],
    ) -> None:
        super().__init__(values, offsets)
        self._kind = kind
        self._journal = journal

    def put(self, key: Any, value: Any, offset: int) -> None:
        self._journal.append((self._kind, key, self.values.get(key)))
        self.values[key] = value
        self.offsets[key] = offset

    def drop(self, key: Any) -> None:
        old = self.values.pop(key, None)
        if old is not None:
            self._journal.append((self._kind, key, old))
            del self.offsets[key]

    def copy(self) -> _WatchedTable:
        return _WatchedTable(self.values.copy(), self.offsets.copy(), self._kind, self._journal)


class VersionedReplay:
    """A Replay that returns, for every record, the writes that the record makes visible.

    refusal: why the last record could not be applied; None if the last record was applied.
    """

    __slots__ = ("_journal", "_pending", "_replay", "refusal")

    def __init__(self, image: Image = EMPTY) -> None:
        self._replay = Replay(image)
        self._journal: list[tuple[EntityKind, Hashable, Any]] = []
        self._pending: _Touched = []
        self.refusal: Refusal | None = None
        for kind in KINDS:
            table = getattr(self._replay.state, kind.table)
            watched = _WatchedTable(table.values, table.offsets, kind, self._journal)
            setattr(self._replay.state, kind.table, watched)

    @property
    def state(self) -> State:
        """The tables after the last record. Callers only read them."""
        return self._replay.state

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: its BEGIN was applied, and its END or ABORT was not."""
        return self._replay.in_transaction

    def copy(self) -> VersionedReplay:
        """A replay with the same state, which continues independently, for example on a branch of
        the log."""
        twin = VersionedReplay.__new__(VersionedReplay)
        twin._journal = self._journal  # shared with the copied tables; empty between records
        twin._pending = self._pending.copy()
        twin._replay = self._replay.copy()
        twin.refusal = self.refusal
        return twin

    def image(self) -> Image:
        """The image that is visible now. Within a transaction, this image is the image before the
        BEGIN."""
        return self._replay.image()

    def apply(self, offset: int, record: ReplayedRecord) -> list[Write]:
        """The writes that this record makes visible, in the order in which their entities were
        first written."""
        was_open = self._replay.in_transaction
        self.refusal = self._replay.apply(offset, record)
        record_type = record.type if isinstance(record, MetadataRecord) else ""
        if not was_open and not self._replay.in_transaction and len(self._journal) < 2:
            return self._single(offset, record_type)
        touched: _Touched = [
            (kind, key, old, offset, record_type or kind.record_type)
            for kind, key, old in self._journal
        ]
        self._journal.clear()
        if not was_open or not record_type:
            return self._visible(touched)
        self._pending += touched
        if self._replay.in_transaction:
            return []
        pending, self._pending = self._pending, []
        return self._visible(pending) if record_type == _END else []

    def _single(self, offset: int, record_type: str) -> list[Write]:
        """The write of a record that wrote at most one entity, as nearly all records do."""
        if not self._journal:
            return []
        kind, key, old = self._journal.pop()
        new = self._now(kind, key)
        return [Write(kind, key, old, new, offset, record_type or kind.record_type)]

    def _visible(self, touched: _Touched) -> list[Write]:
        first: dict[tuple[str, Hashable], tuple[EntityKind, Any]] = {}
        last: dict[tuple[str, Hashable], tuple[int, str]] = {}
        for kind, key, old, offset, record_type in touched:
            first.setdefault((kind.table, key), (kind, old))
            last[kind.table, key] = offset, record_type
        writes = (
            Write(kind, key, old, self._now(kind, key), *last[table, key])
            for (table, key), (kind, old) in first.items()
        )
        return [write for write in writes if write.old is not None or write.new is not None]

    def _now(self, kind: EntityKind, key: Hashable) -> Any:
        table: EntityTable[Any, Any] = getattr(self._replay.state, kind.table)
        return table.values.get(key)
