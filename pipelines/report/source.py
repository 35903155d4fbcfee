"""The port to a lake: a function that answers SQL, and a query together with its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pipelines.lake import Lake

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ReportSource:
    """A lake that answers queries."""

    lake: Lake
    """The lake, as the user named it."""
    tables: Collection[str]
    """The names of the lake's tables, each as `schema.table`."""
    ask: Callable[[str], list[Row]]
    """Answers one SELECT in DataFusion's dialect with its rows. Times are datetimes in UTC, and
    VARIANT is decoded. Raises KraftlakeError."""

    def figure(self, sql: str) -> Figure:
        """The query's rows. Where the rows have a column `total`, its value is the figure's total:
        the number of rows before LIMIT."""
        rows = tuple(self.ask(sql))
        total = rows[0]["total"] if rows and "total" in rows[0] else len(rows)
        return Figure(sql, rows, total)

    def figure_if_there(self, table: str, sql: str) -> Figure | None:
        """The query's rows; None where the lake lacks the table, which the query reads."""
        return self.figure(sql) if table in self.tables else None


@dataclass(frozen=True)
class Figure:
    """The query and rows behind a figure or table of the page."""

    sql: str
    rows: tuple[Row, ...] = ()
    total: int = 0
    """The number of rows that the query would give without its LIMIT."""

    @property
    def more(self) -> int:
        """The number of rows that the LIMIT left out."""
        return self.total - len(self.rows)


def moment(text: str | None) -> datetime | None:
    """A record's time, from its form in the queries: ISO 8601 text in UTC.

    None where there is no time, and for times that Python's calendar lacks: a log may hold any
    time.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
