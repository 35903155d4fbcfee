"""The rounds of captures, with the names that the page gives them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pipelines.capture_rounds import Round
from pipelines.report.source import Row
from replica.words import listed, ms_text, time_text

_NAMED = 6
"""The most rounds that are listed one by one."""


class Rounds:
    """The rounds of one cluster, by their captured_at."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """rows: the rows of queries.rounds, oldest first."""
        self._rounds: dict[datetime, Round] = {}
        for row in rows:
            self._rounds.setdefault(row["captured_at"], Round(**row))

    @property
    def has_untimed(self) -> bool:
        """Whether the captured_at of any round is only the time of its ingest, because no user or
        file names another one."""
        return any(not one.has_own_time for one in self._rounds.values())

    @property
    def text(self) -> str:
        """The names of all rounds; of the first and the last where there are many."""
        labels = list(dict.fromkeys(self.when(at) for at in self._rounds))
        if len(labels) > _NAMED:
            return f"from {labels[0]} to {labels[-1]}"
        return listed(labels)

    def when(self, captured_at: datetime | None) -> str:
        """The name of the captures of that time; empty for None."""
        if captured_at is None:
            return ""
        known = self._rounds.get(captured_at)
        return time_text(captured_at) if known is None else known.label(time_text, ms_text)

    def short(self, captured_at: datetime) -> str:
        """The name of the captures of that time, for the middle of a sentence and without the time
        of their newest record."""
        known = self._rounds.get(captured_at)
        if known is None or known.has_own_time:
            return time_text(captured_at)
        if known.round_name is None:
            return f"the ingest of {time_text(captured_at)}"
        return f"the captures of {known.round_name}"


NO_ROUNDS = Rounds(())
"""No rounds: captures are named by their times alone."""
