"""What is published, and how far: values without effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from replica.errors import DataError

Op = Literal["read", "insert", "update", "delete"]
"""The operations, as Delta names them. `read`: a row that the table held before publishing
began."""

Row = Mapping[str, Any]
"""Column -> value as JSON has it: times in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row's change in one commit.

    version: the commit's. ordinal: the change's place among the version's, from 0; with the table
    it names the change, and is the same each time it is read. committed_at: the commit's time in
    ms since the epoch, None for a row that is read. before, after: None where there was, is none.
    """

    op: Op
    version: int
    ordinal: int
    committed_at: int | None
    before: Row | None
    after: Row | None

    @property
    def row(self) -> Row:
        """The row after the change; of a row that is gone, the row before."""
        found = self.before if self.after is None else self.after
        assert found is not None, "a change of nothing"
        return found


@dataclass(frozen=True, slots=True)
class Position:
    """What is published next: the changes of a version, or, where is_snapshot, all rows of it.
    Changes below `ordinal` are done."""

    version: int
    ordinal: int = 0
    is_snapshot: bool = False

    @property
    def following(self) -> Position:
        """The version behind this one's."""
        return Position(self.version + 1)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a table has been published. table_id: Delta's id of the table; no other table has
    it."""

    table: str
    table_id: str
    position: Position

    def to_json(self) -> dict[str, Any]:
        """As targets keep it."""
        return {
            "table": self.table,
            "table_id": self.table_id,
            "version": self.position.version,
            "ordinal": self.position.ordinal,
            "is_snapshot": self.position.is_snapshot,
        }

    @staticmethod
    def from_json(value: Any) -> Progress:
        """The inverse. DataError: it isn't that."""
        try:
            position = Position(
                int(value["version"]), int(value["ordinal"]), bool(value["is_snapshot"])
            )
            return Progress(str(value["table"]), str(value["table_id"]), position)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError("this is no progress of kraftlake publish") from error


@dataclass(frozen=True, slots=True)
class Unit:
    """What one version brings. start: where to begin in it. changes: all of them from ordinal 0 on,
    in order, to be read once."""

    start: Position
    changes: Iterable[Change]
