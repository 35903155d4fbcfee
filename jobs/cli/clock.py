"""Times as text for people: days and times in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from replica.errors import UsageError

LOCAL = "local"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ZonedClock:
    """Shows times, which are given in ms since 1970, in a time zone."""

    zone: tzinfo | None = UTC
    """The time zone; None for the zone of this machine."""

    def day(self, at: int) -> str:
        """The date of a time (ms since 1970), with the zone; "" for a time that no calendar has."""
        moment = self._moment(at)
        if moment is None:
            return ""
        name = moment.tzname() or "UTC"
        return f"{moment.date().isoformat()} ({name})"

    def time(self, at: int) -> str:
        """The time of day of a time (ms since 1970); the number with `ms` for a time that no
        calendar has."""
        moment = self._moment(at)
        return f"{at}ms" if moment is None else moment.strftime("%H:%M:%S.") + f"{at % 1000:03}"

    def text(self, at: int) -> str:
        """The time (ms since 1970) as ISO 8601 with the zone's offset, Z for UTC; the number with
        `ms` for a time that no calendar has."""
        moment = self._moment(at)
        if moment is None:
            return f"{at}ms"
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def words(self, at: int) -> str:
        """A time (ms since 1970) as sentences write it (replica.words), to the ms: `2026-11-21
        03:20:05.122 UTC`; in another zone with the zone's offset instead of UTC. For a time that no
        calendar has, the number of ms."""
        moment = self._moment(at)
        if moment is None:
            return f"{at} ms"
        offset = moment.isoformat()[-6:]
        zone = "UTC" if offset == "+00:00" else offset
        return f"{moment.date().isoformat()} {self.time(at)} {zone}"

    def _moment(self, at: int) -> datetime | None:
        try:
            return (_EPOCH + timedelta(milliseconds=at)).astimezone(self.zone)
        except (OverflowError, OSError, ValueError):
            return None


UTC_CLOCK = ZonedClock()


def clock_of(zone: str | None) -> ZonedClock:
    """The clock for the value of --tz; UTC where it is not given. Raises UsageError for an unknown
    zone."""
    if zone is None or zone.upper() == "UTC":
        return UTC_CLOCK
    if zone == LOCAL:
        return ZonedClock(None)
    try:
        return ZonedClock(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"--tz {zone}: no such time zone here: name one such as Europe/Berlin, {LOCAL} or UTC"
        ) from error
