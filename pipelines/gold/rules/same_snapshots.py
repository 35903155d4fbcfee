"""Snapshots of one id on several replicas: replica.check.same_snapshots on rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.finding_rows import finding_row
from pipelines.replay.compared import difference_of
from pipelines.tables.keys import REPLICA_KEYS
from replica.check.same_snapshots import judge_contents
from replica.check.snapshots import Compared
from replica.metadata.image.image import EntityDifference
from replica.model.epochs import OffsetAndEpoch


def told(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The finding on a snapshot whose content differs from that of the first snapshot with its id,
    as a row with the columns PLACED.

    row: REPLICA_KEYS, end_offset, epoch, capture_id, file, first_file, is_swapped (whether the
    first one was compared with this one, and not this one with the first), different, orphans,
    dropped, sample, explained_sample.
    """
    sample = row["sample"] if row["different"] else row["explained_sample"]
    first = tuple(_difference(one, is_swapped=row["is_swapped"]) for one in sample)
    compared = Compared(row["orphans"], row["dropped"], row["different"], first)
    snapshot_id = OffsetAndEpoch(row["end_offset"], row["epoch"])
    for found in judge_contents(row["file"], row["first_file"], snapshot_id, compared):
        keys = (*REPLICA_KEYS, "capture_id")
        yield {**{name: row[name] for name in keys}, **finding_row(found)}


def _difference(one: dict[str, Any], *, is_swapped: bool) -> EntityDifference:
    """The difference of this snapshot from the first one, whichever of the two was compared with
    the other."""
    found = difference_of(one)
    if not is_swapped:
        return found
    return EntityDifference(found.kind, found.key, found.value_b, found.value_a)
