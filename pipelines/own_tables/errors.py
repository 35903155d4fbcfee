"""Errors about tables of a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replica.errors import KraftlakeError


class OwnTableError(KraftlakeError):
    """One own table is wrong. The message says why, without the table's place."""


class OwnTablesError(KraftlakeError):
    """At least one own table was not built. All other tables, own ones and kraftlake's, were built.

    problems: a line for each table that was not built, which begins with its file or package.
    counts: the number of rows of each table that was built.
    """

    def __init__(self, problems: Sequence[str], counts: Mapping[str, int]) -> None:
        super().__init__(problems, counts)
        self.problems, self.counts = problems, dict(counts)

    def __str__(self) -> str:
        return "; ".join(self.problems)
