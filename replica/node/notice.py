"""What a running node tells whoever runs it: a line for people, the same facts for machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Fields = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Notice:
    """event: its kind, in lower case with hyphens, which stays the same between releases. text: one
    line. fields: the facts in it as values; their names are none of `time`, `event`, `message`."""

    event: str
    text: str
    fields: Fields = field(default_factory=dict)


Report = Callable[[Notice], None]
"""Takes a notice; called within the node's loop, so it must not wait."""


class Seldom:
    """Reports of one kind that strangers cause: one a minute about each key, and of the last one
    how many there were that nobody was told of. Remembers `most_keys` keys at most."""

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
        """Report it, or count it where one about this key is less than a minute old. With too many
        keys all others are counted together."""
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
