"""The offsets of a log in words, in the same form for every command."""

from __future__ import annotations


def log_range(start: int, first: int | None, end: int) -> str:
    """For example `log 1913 to 1925 (older batches from 519 on still there)`.

    start: the log start offset. first: the first offset of the first batch in the .log files; None
    where there is no batch. end: LEO, exclusive. Kafka deletes only whole segments, so batches
    below the log start are legal.
    """
    told = f"log {start} to {end}"
    if first is None or first == start:
        return told
    if first < start:
        return f"{told} (older batches from {first} on still there)"
    return f"{told} (no batch below {first})"
