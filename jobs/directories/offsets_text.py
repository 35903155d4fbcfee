"""Offsets, snapshot ids and lost records in words, in the same form for every command."""

from __future__ import annotations

from jobs.output import counted
from replica.history.commitment import Losses
from replica.history.ranges import Ranges
from replica.model.epochs import OffsetAndEpoch


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


def ranges_text(ranges: Ranges) -> str:
    """The offsets, both ends inclusive, and how many records they are."""
    told = ", ".join(f"{each.start} to {each.end - 1}" for each in ranges)
    return f"{told} ({counted(sum(each.size for each in ranges), 'record')})"


def pairs(ranges: Ranges) -> list[list[int]]:
    """[first, end) of each range, for JSON."""
    return [[each.start, each.end] for each in ranges]


def snapshot_text(snapshot_id: OffsetAndEpoch) -> str:
    """Offset and epoch, as in the name of a snapshot's file, without zeros in front."""
    return f"{snapshot_id.offset}-{snapshot_id.epoch}"


def losses_text(losses: Losses) -> str:
    """How many of the lost records are of each commitment."""
    return (
        f"{losses.committed} proven committed, {losses.superseded} superseded, "
        f"{losses.unproven} unproven"
    )
