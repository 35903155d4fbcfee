"""The request of a user of `kraftlake sql`, and the query that an engine gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.asking.sql_views import AT_END, View
from jobs.moments import NOW, Moment
from pipelines.lake import Lake

DELTA_RS = "delta-rs"
DUCKDB = "duckdb"
SPARK = "spark"
ENGINES = (DELTA_RS, DUCKDB, SPARK)


@dataclass(frozen=True, slots=True)
class SqlRequest:
    """What to ask: one of query, file, question, tables and questions.

    form: as for write_answer. moment: the one whose state the views show. cluster: its id; None for
    all clusters.
    """

    lake: Lake
    query: str | None = None
    file: str | None = None
    engine: str = DELTA_RS
    form: str = "text"
    tables: bool = False
    moment: Moment = NOW
    cluster: str | None = None
    question: str | None = None
    questions: bool = False


@dataclass(frozen=True, slots=True)
class LakeQuery:
    """A query for one of the engines.

    sql: its text. tables: the tables that it names, which the engine opens. views: the views that
    it names, which the engine makes of these tables. valid: the SQL condition for the versions of
    entities that the views show.
    """

    lake: Lake
    sql: str
    tables: Sequence[str]
    views: Sequence[View] = ()
    valid: str = AT_END
