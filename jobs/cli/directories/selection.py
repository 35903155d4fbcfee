"""The records that a dump shows: ranges of offsets and times, an epoch, record types."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from jobs.cli.commands.directories import DumpOptions
from jobs.cli.moments import period_of
from replica.errors import UsageError
from replica.format.batch import BatchHeader
from replica.format.control import ControlType
from replica.metadata.records import RECORDS

if TYPE_CHECKING:
    from replica.scan.lines import Choose

_SUFFIX = "RECORD"
_UNKNOWN_TYPES = re.compile(r"CONTROL\d+|UNKNOWNRECORD")


@dataclass
class Selection:
    """The records that are selected. A bound that is None excludes nothing; the `to_` bounds are
    exclusive. Times are in ms since 1970 (UTC)."""

    from_offset: int | None = None
    to_offset: int | None = None
    epoch: int | None = None
    from_time: int | None = None
    to_time: int | None = None
    types: tuple[str, ...] = ()
    """Patterns of the names of record types, in upper case and without underscores (see _plain);
    empty for all types."""
    _matched: dict[str, bool] = field(default_factory=dict)

    @property
    def has_offsets(self) -> bool:
        return self.from_offset is not None or self.to_offset is not None

    def may_hold(self, header: BatchHeader) -> bool:
        """Whether a batch may hold selected records, by its offsets and epoch."""
        if self.epoch is not None and header.leader_epoch != self.epoch:
            return False
        if self.from_offset is not None and header.last_offset < self.from_offset:
            return False
        return self.to_offset is None or header.base_offset < self.to_offset

    def overlaps(self, header: BatchHeader) -> bool:
        """Whether a batch has the selected epoch, and its offsets and times overlap the ranges."""
        if self.from_time is not None and header.max_timestamp < self.from_time:
            return False
        if self.to_time is not None and header.base_timestamp >= self.to_time:
            return False
        return self.may_hold(header)

    def takes(self, offset: int, timestamp: int) -> bool:
        """Whether a record is selected, apart from its type. The record is of a batch that may hold
        selected records."""
        return (
            (self.from_offset is None or offset >= self.from_offset)
            and (self.to_offset is None or offset < self.to_offset)
            and (self.from_time is None or timestamp >= self.from_time)
            and (self.to_time is None or timestamp < self.to_time)
        )

    def chosen_rows(self) -> Choose | None:
        """The function by which the bulk reader chooses rows within the bounds of offset, time and
        epoch; None where nothing is bounded."""
        import numpy as np

        bounds = [
            (column, compare, bound)
            for column, compare, bound in (
                (0, np.greater_equal, self.from_offset),
                (0, np.less, self.to_offset),
                (1, np.greater_equal, self.from_time),
                (1, np.less, self.to_time),
                (2, np.equal, self.epoch),
            )
            if bound is not None
        ]

        def choose(*columns: Any) -> Any:
            chosen = [compare(columns[column], bound) for column, compare, bound in bounds]
            return np.logical_and.reduce(chosen)

        return choose if bounds else None

    def takes_type(self, name: str) -> bool:
        """Whether records of this type are selected."""
        if not self.types:
            return True
        if name not in self._matched:
            self._matched[name] = any(_matches(_plain(name), pattern) for pattern in self.types)
        return self._matched[name]


def select(options: DumpOptions) -> Selection:
    """The selection of the options. Raises UsageError, which names the wrong option."""
    start, end = options.from_offset, options.to_offset
    period = period_of(options.from_time, options.to_time)
    _check_order("offset", start, end)
    _check_order("time", period.since, period.until)
    patterns = tuple(_checked(pattern) for pattern in options.types or ())
    return Selection(start, end, options.epoch, period.since, period.until, patterns)


def _check_order(what: str, start: int | None, end: int | None) -> None:
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"--from-{what} {start} and --to-{what} {end} select nothing: the end is exclusive "
            "and must be above the start"
        )


def _checked(text: str) -> str:
    """The pattern in plain form. Raises UsageError where it matches no type."""
    pattern = _plain(text)
    types = (*(schema.name for schema in RECORDS), *(kind.name for kind in ControlType))
    names = {_plain(name): name for name in types}
    if _UNKNOWN_TYPES.fullmatch(pattern) or any(_matches(name, pattern) for name in names):
        return pattern
    stems = {name.removesuffix(_SUFFIX): shown for name, shown in names.items()}
    near = difflib.get_close_matches(pattern.removesuffix(_SUFFIX), stems)
    hint = "did you mean " + ", ".join(stems[name] for name in near) + "?"
    if not near:
        hint = "known are " + ", ".join(sorted(names.values()))
    raise UsageError(f"--type {text}: no record type has this name; {hint}")


def _plain(name: str) -> str:
    """The name in upper case without underscores, so that LeaderChange, leader_change and Kafka's
    name become equal."""
    return name.upper().replace("_", "")


def _matches(name: str, pattern: str) -> bool:
    """Whether a name in plain form fits a pattern, with its suffix or without."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.removesuffix(_SUFFIX), pattern)
