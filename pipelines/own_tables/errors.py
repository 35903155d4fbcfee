"""What is wrong with tables of a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replica.errors import KraftlakeError


class OwnTableError(KraftlakeError):
    """What is wrong with one own table, without its place."""


class OwnTablesError(KraftlakeError):
    """Some own tables weren't built. All others, and all tables of kraftlake, were.

    problems: a line for each, with its place. counts: the rows of the tables that were built.
    """

    def __init__(self, problems: Sequence[str], counts: Mapping[str, int]) -> None:
        super().__init__(problems, counts)
        self.problems, self.counts = problems, dict(counts)

    def __str__(self) -> str:
        return "; ".join(self.problems)
