"""The own tables that a user has named or installed. A lake never defines an own table: a lake may
be a stranger's, and a definition is run."""

from __future__ import annotations

import os

from pipelines.lake import Lake
from pipelines.own_tables.own_table import OwnTable
from pipelines.own_tables.packages import package_tables
from pipelines.own_tables.sql_files import sql_tables

VARIABLE = "KRAFTLAKE_OWN"


def own_tables(lake: Lake, folder: str | None) -> tuple[list[OwnTable], list[str]]:
    """The tables, and a line for each definition that makes no table. folder: a folder of .sql
    files; None for the folder that KRAFTLAKE_OWN names. Raises the errors of sql_tables."""
    folder = folder or os.environ.get(VARIABLE)
    found, problems = sql_tables(folder, lake) if folder else ([], [])
    of_packages, others = package_tables()
    tables: dict[str, OwnTable] = {}
    for one in (*found, *of_packages):
        first = tables.setdefault(one.name, one)
        if first is not one:
            others.append(f"{one.place}: {first.place} defines {one.name}, too")
    return [*tables.values()], problems + others
