"""Moments and periods in the values of options."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from replica.errors import DataError, UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_MS = 10**12
"""September 2001 in ms. A smaller number is an offset: a log with as many
records would take 50 TB."""


@dataclass(frozen=True)
class Moment:
    """A place in the log: below an offset, or up to and including a time; with neither, the end of
    the log."""

    at_offset: int | None = None
    at_time: datetime | None = None
    option: str = ""
    """The option that errors name."""

    def __post_init__(self) -> None:
        if self.at_offset is not None and self.at_time is not None:
            raise UsageError("--at-offset and --at-time name two moments: give one of them")


NOW = Moment()
"""The end of the log."""


@dataclass(frozen=True, slots=True)
class Period:
    """The times from `since` (inclusive) to `until` (exclusive), in ms since 1970. None: no limit
    at that end."""

    since: int | None = None
    until: int | None = None

    def holds(self, at: int | None) -> bool:
        """Whether the period contains the time `at`. None, an unknown time, is only in the period
        that is open at both ends."""
        if at is None:
            return self.since is None and self.until is None
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


def asked_moment(at_offset: int | None, at_time: str | None) -> Moment:
    """The moment in --at-offset and --at-time. Raises UsageError for an --at-time
    that is no time."""
    return Moment(at_offset, moment_of("--at-time", at_time))


def period_of(from_time: str | None, to_time: str | None) -> Period:
    """The period in --from-time and --to-time. Raises UsageError, which names the option."""
    since, until = moment_of("--from-time", from_time), moment_of("--to-time", to_time)
    return Period(_ceiled_ms(since), _ceiled_ms(until))


def _ceiled_ms(moment: datetime | None) -> int | None:
    """The first whole ms since 1970 that isn't before the moment; None for None."""
    return None if moment is None else -((_EPOCH - moment) // timedelta(milliseconds=1))


def moment_of(option: str, text: str | None) -> datetime | None:
    """The time in the text of an option. None where the option was not given.

    The text is ISO-8601, in UTC where it names no zone, or ms since 1970. Raises UsageError, which
    names the option, for other text.
    """
    if text is None:
        return None
    # This import takes a fifth of the start of `sql`.
    from replica.format.capture import parse_time

    try:
        return parse_time(text)
    except DataError as error:
        raise UsageError(
            f"{option} {text}: neither ISO-8601, such as 2026-11-21T05:00:00Z, nor ms since 1970"
        ) from error


def capture_moment_of(option: str, text: str | None) -> datetime | None:
    """The time of a capture, as in `moment_of`; None where the option was not given. Raises
    UsageError also for a year that the timestamps of a lake's files can't hold."""
    moment = moment_of(option, text)
    if moment is None:
        return None
    from replica.format.capture import capture_time

    try:
        return capture_time(moment.isoformat())
    except DataError as error:
        raise UsageError(f"{option} {text}: {error.reason}; say when it was captured") from error


def either_of(option: str, text: str) -> Moment:
    """The moment in a text.

    A whole number below 10^12 is an offset, a larger one a time in ms since 1970, and other text an
    ISO-8601 time. Raises UsageError, which names the option, where the text is none of these.
    """
    if text.isdecimal() and int(text) < _LEAST_MS:
        return Moment(int(text), option=option)
    return Moment(at_time=moment_of(option, text), option=option)
