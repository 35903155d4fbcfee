"""The port to a lake: a function that answers SQL, and a query kept together with its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pipelines.lake import Lake

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """A lake that can be asked.

    lake: as the user named it. tables: `schema.table` of each table in it.
    ask: one SELECT in DataFusion's dialect to its rows; times are datetimes in UTC, VARIANT is
    decoded. It raises KraftlakeError.
    """

    lake: Lake
    tables: Collection[str]
    ask: Callable[[str], list[Row]]

    def figure(self, sql: str) -> Figure:
        """The query's rows. Its column `total`, where it has one, counts those before LIMIT."""
        rows = tuple(self.ask(sql))
        total = rows[0]["total"] if rows and "total" in rows[0] else len(rows)
        return Figure(sql, rows, total)


@dataclass(frozen=True)
class Figure:
    """What a figure or table of the page is made from. total: rows without the query's LIMIT."""

    sql: str
    rows: tuple[Row, ...] = ()
    total: int = 0

    @property
    def more(self) -> int:
        """Rows that the LIMIT left out."""
        return self.total - len(self.rows)


def literal(value: str | int) -> str:
    """A value as SQL writes it; what a string holds can't end the string."""
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def moment(text: str | None) -> datetime | None:
    """A record's time as the queries give it, ISO-8601 text in UTC.

    None where there is none, and for times that Python's calendar lacks: they come from the log,
    and a log may hold any.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
