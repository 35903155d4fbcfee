"""What is published, and how far: values without effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from replica.errors import DataError

Op = Literal["read", "insert", "update", "delete"]
"""The operations by Delta's names. `read`: a row that the table held before publishing began."""

Row = Mapping[str, Any]
"""Column -> value in JSON's types: times in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one row in one commit.

    version: of the commit. ordinal: the change's place in the version, from 0; table, version and
    ordinal identify the change, each time it is read. committed_at: the commit's time in ms since
    the epoch, None for a row that is read. before, after: the row; None where there was, or is,
    none.
    """

    op: Op
    version: int
    ordinal: int
    committed_at: int | None
    before: Row | None
    after: Row | None

    @property
    def row(self) -> Row:
        """The row after the change; for a deleted row, the row before."""
        found = self.before if self.after is None else self.after
        assert found is not None, "a change of nothing"
        return found


@dataclass(frozen=True, slots=True)
class Position:
    """The changes that come next: those of a version, or, where is_snapshot, all its rows. Changes
    below `ordinal` are done."""

    version: int
    ordinal: int = 0
    is_snapshot: bool = False

    @property
    def following(self) -> Position:
        """The position of the version behind this one."""
        return Position(self.version + 1)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a table was published. table_id: Delta's id of the table, which no other
    table has."""

    table: str
    table_id: str
    position: Position

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
    def from_json(value: Any) -> Progress:
        """The inverse of to_json. Raises DataError where the value has another form."""
        try:
            position = Position(
                int(value["version"]), int(value["ordinal"]), bool(value["is_snapshot"])
            )
            return Progress(str(value["table"]), str(value["table_id"]), position)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError("this is no progress of kraftlake publish") from error


@dataclass(frozen=True, slots=True)
class Unit:
    """The changes of one version. start: where to begin. changes: all of them from ordinal 0 on, in
    order; they can be read once."""

    start: Position
    changes: Iterable[Change]
