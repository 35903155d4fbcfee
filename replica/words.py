"""Numbers, lists and times in sentences for people, in the same form in every command and page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

_NAME_ROOM = 60
_MINUTE_MS = 59_950
"""A time span from this many ms on is written in minutes: in seconds it would be `60.0 s`."""


def counted(count: int, noun: str) -> str:
    """A number with its noun, such as 1 record, 2 records."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def number(count: int) -> str:
    """A count in a sentence: `none` for 0, else the digits, as in `2 of 3 voters`."""
    return str(count) if count else "none"


def listed(parts: Sequence[str], *, limit: int | None = None, last: str = "and") -> str:
    """A list such as `1`, `1 and 2`, `1, 2 and 3`; above the limit `1, 2 and 5 more`. last: the
    word before the last part."""
    if limit is not None and len(parts) > limit:
        return f"{', '.join(parts[:limit])} and {len(parts) - limit} more"
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def named(noun: str, names: Sequence[str], *, limit: int | None = None) -> str:
    """The noun and the names, such as `epoch 3`, or `epochs 3 and 4`. limit: the most names that
    are written out."""
    return f"{noun}{'' if len(names) == 1 else 's'} {listed(names, limit=limit)}"


def up_to(end_offset: int) -> str:
    """The last offset below an end (exclusive) as words, such as `up to offset 91`: sentences name
    offsets of records, never end offsets."""
    return f"up to offset {end_offset - 1}" if end_offset > 0 else "before the first record"


def sentence(text: str) -> str:
    """The text with a capital letter at the beginning and a full stop at the end."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def shortened(name: str) -> str:
    """The name, shortened to at most 60 characters."""
    return name if len(name) <= _NAME_ROOM else f"{name[: _NAME_ROOM - 3]}..."


def size_text(size_bytes: int) -> str:
    """A number of bytes for people, such as `3.4 GiB`."""
    size, units = float(size_bytes), iter(("bytes", "KiB", "MiB", "GiB"))
    unit = next(units)
    while size >= 1024 and (larger := next(units, None)):
        size, unit = size / 1024, larger
    return f"{size_bytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


def duration_text(milliseconds: int) -> str:
    """A time span for people: `3.2 s` below a minute, else the two largest units, such as `2 min 17
    s`, `3 h` or `1 d 4 h`."""
    if milliseconds < _MINUTE_MS:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    first = next(place for place, (count, _) in enumerate(units) if count)
    return " ".join(f"{count} {unit}" for count, unit in units[first : first + 2] if count)


def time_text(moment: datetime | None) -> str:
    """The time to the second, in UTC; empty for None."""
    if moment is None:
        return ""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def ms_text(milliseconds: int | None) -> str:
    """A record's time, given in ms since 1970, in the form of time_text; empty for None. A time
    outside of the calendar, which a hostile log may hold, is shown as the number."""
    if milliseconds is None:
        return ""
    try:
        return time_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def ms_range_text(first: int, last: int) -> str:
    """A range of times such as `2026-11-21 03:19:46 to 03:19:47 UTC`; one time if both are the
    same."""
    start, end = ms_text(first), ms_text(last)
    if start == end:
        return start
    day, _, time = end.partition(" ")
    if start.startswith(f"{day} ") and time:
        end = time
    return f"{start.removesuffix(' UTC')} to {end}"
