"""A notice: a message of a running node to its operator, as one line for people and as values for
programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Fields = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to the operator."""

    event: str
    """The kind of notice, in lower case with hyphens; the name of a kind stays the same between
    releases."""
    text: str
    """The notice in one line for people."""
    fields: Fields = field(default_factory=dict)
    """The facts of the text as values. No field is named `time`, `event` or `message`."""


Report = Callable[[Notice], None]
"""A function that takes a notice. The function is called in the node's event loop, so it must not
wait."""


class Seldom:
    """Limits the notices that strangers cause: for each key it reports at most one notice in
    `every_s` seconds. The next notice says how many notices were left out. At most `most_keys` keys
    are remembered."""

    def __init__(
        self,
        report: Report,
        every_s: float = 60.0,
        most_keys: int = 256,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report = report
        self._every_s = every_s
        self._most_keys = most_keys
        self._now = now
        self._told: dict[str, tuple[float, int]] = {}

    def __call__(self, key: str, notice: Notice) -> None:
        """Report the notice, or only count it if a notice with this key was reported less than
        `every_s` seconds ago. Keys beyond `most_keys` are counted together."""
        now = self._now()
        if key not in self._told and len(self._told) >= self._most_keys:
            fresh = {k: v for k, v in self._told.items() if now - v[0] < self._every_s}
            self._told = fresh
            key = key if len(fresh) < self._most_keys else ""
        told_at, silent = self._told.get(key, (-self._every_s, 0))
        if key in self._told and now - told_at < self._every_s:
            self._told[key] = (told_at, silent + 1)
            return
        self._told[key] = (now, 0)
        if silent:
            notice = replace(notice, text=f"{notice.text}; {silent} more like it were not told")
        self._report(notice)
