"""The options of `kraftlake sql`."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.moments import NOW, Moment
from pipelines.lake import Lake

DELTA_RS = "delta-rs"
DUCKDB = "duckdb"
SPARK = "spark"
ENGINES = (DELTA_RS, DUCKDB, SPARK)


@dataclass(frozen=True, slots=True)
class SqlRequest:
    """What to ask: one of query, file, question, tables and questions.

    form: text, json or csv. moment, cluster: of the views' state; cluster None for all clusters.
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
