"""The text for ranges of offsets, snapshot ids and counts of lost records, which is the same in all
commands."""

from __future__ import annotations

from collections.abc import Iterable

from replica.history.commitment import Losses
from replica.history.ranges import Ranges
from replica.model.epochs import OffsetAndEpoch
from replica.words import counted, named

NEED = (
    "no log grew after the first directory was copied; if one grew, copy the directories of all "
    "running nodes anew, and stop no broker for that"
)
"""The condition of an answer about starting nodes with directories that were copied. No file shows
whether it holds. A broker that stops can't register again before the quorum has a leader."""


def static_voters_need(voters: Iterable[int]) -> str:
    """The condition for starting a static quorum, whose log doesn't name the voters: the settings
    of each node must name them. voters: the ids of the voters."""
    shown = named("voter", [str(one) for one in voters])
    return (
        f"controller.quorum.voters of each node names {shown}; `kraftlake check --config` judges a "
        "node's settings"
    )


def log_range(start: int, first: int | None, end: int) -> str:
    """The offsets of a log, such as `log 1913 to 1924 (older batches from 519 on still there)`.

    start: the log start offset.
    first: the first offset of the first batch in the .log files; None where there is no batch.
        Kafka deletes only whole segments, so batches below the log start are legal.
    end: the log end offset (exclusive).
    """
    told = f"log {start} to {end - 1}" if end > start else "log without a record"
    if first is None or first == start:
        return told
    if first < start:
        return f"{told} (older batches from {first} on still there)"
    return f"{told} (no batch below {first})"


def ranges_text(ranges: Ranges) -> str:
    """Offsets, both ends inclusive, and their number, such as `7 to 9, 12 to 12 (4 records)`."""
    told = ", ".join(f"{each.start} to {each.end - 1}" for each in ranges)
    return f"{told} ({counted(sum(each.size for each in ranges), 'record')})"


def pairs(ranges: Ranges) -> list[list[int]]:
    """Each range as [first offset, offset after the last], for JSON."""
    return [[each.start, each.end] for each in ranges]


def snapshot_text(snapshot_id: OffsetAndEpoch) -> str:
    """A snapshot's offset and epoch, such as `1913-4`: as in its file name,
    without leading zeros."""
    return f"{snapshot_id.offset}-{snapshot_id.epoch}"


def losses_text(losses: Losses) -> str:
    """The numbers of lost records by their commitment."""
    return (
        f"{losses.committed} committed, {losses.superseded} never committed, "
        f"{losses.unproven} unknown"
    )
