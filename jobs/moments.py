"""Times that options name."""

from __future__ import annotations

from datetime import datetime

from replica.errors import DataError, UsageError
from replica.format.capture import parse_time


def moment_of(option: str, text: str | None) -> datetime | None:
    """ISO-8601 (UTC where it names no zone) or ms since the epoch; UsageError names the option."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except DataError as error:
        raise UsageError(
            f"{option} {text}: neither ISO-8601, such as 2026-11-21T05:00:00Z, nor ms since 1970"
        ) from error
