"""The tables that have a feed, their changes, and the progress of publishing: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.tables import gold
from pipelines.tables.contract import Contract
from replica.errors import DataError

Op = Literal["read", "insert", "update", "delete"]
"""The operations by Delta's names. `read`: a row that the table held before publishing began."""

Row = Mapping[str, Any]
"""Column -> value in JSON's types: times in ms since 1970 (UTC)."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of one row in one commit."""

    op: Op
    version: int
    """The commit's version."""
    ordinal: int
    """The change's place in the version, from 0; table, version and ordinal identify the change,
    each time it is read."""
    committed_at: int | None
    """The commit's time in ms since 1970 (UTC); None for a row that is read."""
    before: Row | None
    """The row before the commit; None where there was no row."""
    after: Row | None
    """The row after the commit; None where the commit deleted the row."""

    @property
    def row(self) -> Row:
        """The row after the change; for a deleted row, the row before."""
        found = self.before if self.after is None else self.after
        assert found is not None, "a change of nothing"
        return found


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """The changes to publish next: the changes of a version, or all its rows where is_snapshot is
    true. Changes with an ordinal below `ordinal` are published already."""

    version: int
    ordinal: int = 0
    is_snapshot: bool = False

    @property
    def following(self) -> FeedPosition:
        """The position at the beginning of the next version."""
        return FeedPosition(self.version + 1)


@dataclass(frozen=True, slots=True)
class FeedProgress:
    """The position in a table's changes up to which they were published."""

    table: str
    table_id: str
    """Delta's id of the table, which no other table has."""
    position: FeedPosition

    def to_json(self) -> dict[str, Any]:
        """The progress in the form that targets keep."""
        return {
            "table": self.table,
            "table_id": self.table_id,
            "version": self.position.version,
            "ordinal": self.position.ordinal,
            "is_snapshot": self.position.is_snapshot,
        }

    @staticmethod
    def from_json(value: Any) -> FeedProgress:
        """The inverse of to_json. Raises DataError where the value has another form."""
        try:
            position = FeedPosition(
                int(value["version"]), int(value["ordinal"]), bool(value["is_snapshot"])
            )
            return FeedProgress(str(value["table"]), str(value["table_id"]), position)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError("this is no progress of kraftlake publish") from error


@dataclass(frozen=True)
class Feed:
    """A table with a feed."""

    contract: Contract
    key: tuple[str, ...]
    """The columns whose values, as JSON, are a message's key. Changes with equal keys keep their
    order."""

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.contract.name

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which the changes of one version are sorted: the offset, if it is one of
        the table's keys, and then the other keys."""
        keys = self.contract.keys
        first = ("offset",) if "offset" in keys else ()
        return (*first, *(key for key in keys if key not in first))


_KEYS = {
    # the changes of one entity stay in order, and a compacted topic keeps the last one
    gold.METADATA_CHANGES.name: ("cluster_id", "entity", "key"),
}
FEEDS = {one.name: Feed(one, _KEYS.get(one.name, one.keys)) for one in gold.GOLD if one.change_feed}
"""The feeds of kraftlake's tables. Each own table has a feed, too, with the table's key."""
