"""The snapshots of a small lake: verdicts on them, compared with the replay and with each other.

`replayed` is the `compared` of pipelines.in_memory.replay's Replayed. A cluster is replayed in one
part, so each row says everything about its snapshot.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipelines.finding_rows import FINDING
from pipelines.gold.rules import snapshots
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.held import one_row_per_capture
from pipelines.in_memory.rows import Row, nulls_first
from pipelines.replay.plan import CONTENT_IDS
from pipelines.tables.keys import REPLICA_KEYS, SNAPSHOT_KEYS
from replica.check.catalogue.log import NOT_KNOWN
from replica.model.epochs import BOOTSTRAP_SNAPSHOT

_SHOWN_NAME = re.compile(snapshots.SHOWN_NAME)
_FIRST = ("node_id", "directory_id", "file")


def judged_snapshots(bronze: BronzeRows, replayed: Iterable[Row]) -> list[Row]:
    """A row for each snapshot of each capture, with the columns JUDGED of
    pipelines.gold.rules.snapshots."""
    told = _told(bronze.found)
    unknown = _first_unknown(bronze.found)
    compared = {
        _ids(row): {**row, "sample": _in_order(row["sample"])}
        for row in replayed
        if row["content_sha256"] is not None and row["against_sha256"] is None
    }
    return [
        snapshots.judged(
            {
                **held,
                "told": told.get((held["capture_id"], held["end_offset"], held["epoch"])),
                "comparison": compared.get(_ids(held)),
                "first_unknown": unknown.get(held["capture_id"]),
            }
        )
        for held in held_snapshots(bronze)
    ]


def snapshot_validity(judged: Iterable[Row]) -> list[Row]:
    """Rows of gold.snapshot_validity. judged: from judged_snapshots."""
    same = (*REPLICA_KEYS, "end_offset", "epoch", "capture_id", "verdict")
    return [
        {
            **{name: row[name] for name in same},
            **{
                name: [{part: one[part] for part in snapshots.EVIDENCE} for one in row[name]]
                for name in ("broken_rules", "notes")
            },
        }
        for row in judged
    ]


def same_snapshot_findings(bronze: BronzeRows, replayed: Iterable[Row]) -> Iterator[Row]:
    """The findings on snapshots of one id, as rows with the columns PLACED. Each snapshot is
    compared with the first replica's snapshot of the same id in the capture group. Left out are
    snapshots that can't be read as a whole, and the bootstrap snapshot 0-0, which is no state."""
    compared = {
        (*_ids(row), row["against_sha256"]): row
        for row in replayed
        if row["against_sha256"] is not None and row["refused"] == 0
    }
    for members in _of_one_id(bronze).values():
        first, *others = sorted(members, key=lambda row: tuple(row[name] for name in _FIRST))
        for other in others:
            yield from _beside_first(other, first, compared)


def _beside_first(other: Row, first: Row, compared: dict[tuple[Any, ...], Row]) -> Iterator[Row]:
    low, high = sorted((other["content_sha256"], first["content_sha256"]))
    found = compared.get((*_ids({**other, "content_sha256": low}), high))
    if low == high or found is None or other["is_unreadable"] or first["is_unreadable"]:
        return
    names = ("different", "orphans", "dropped")
    yield from snapshots.of_same_id(
        {
            **other,
            **{name: found[name] for name in names},
            **{name: _in_order(found[name]) for name in ("sample", "explained_sample")},
            "first_file": first["file"],
            "is_swapped": other["content_sha256"] == high,
        }
    )


def _of_one_id(bronze: BronzeRows) -> dict[tuple[Any, ...], list[Row]]:
    """The whole snapshots of each capture group and id, with is_unreadable."""
    groups = defaultdict(set)
    for row in bronze.captures:
        groups[row["capture_id"]].add(row["capture_group"])
    unreadable = {
        (row["capture_id"], row["snapshot_end_offset"], row["snapshot_epoch"])
        for row in bronze.found
        if row["rule"] in snapshots.UNREADABLE
    }
    members = defaultdict(list)
    for held in held_snapshots(bronze):
        if held["is_whole"] and held["end_offset"] > BOOTSTRAP_SNAPSHOT.offset:
            place = held["capture_id"], held["end_offset"], held["epoch"]
            member = {**held, "is_unreadable": place in unreadable}
            for group in groups[held["capture_id"]]:
                members[group, *_ids(held)[:3]].append(member)
    return members


def held_snapshots(bronze: BronzeRows) -> Iterator[Row]:
    """A row for each complete snapshot of each capture: SNAPSHOT_KEYS, capture_id, is_whole, and
    `file`, by its name at ingest."""
    sources = {row["capture_id"]: row["source"] for row in one_row_per_capture(bronze.captures)}
    for row in bronze.snapshots:
        name = _SHOWN_NAME.search(row["file"])
        for capture_id in row["captures"]:
            if capture_id in sources:
                shown = f"{sources[capture_id]}/{name.group(1) if name else ''}"
                yield {
                    **{name: row[name] for name in (*SNAPSHOT_KEYS, "is_whole")},
                    "capture_id": capture_id,
                    "file": shown,
                }


def _told(found: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """By capture_id, end offset and epoch: bronze's findings on that snapshot."""
    told = defaultdict(list)
    for row in found:
        if row["snapshot_end_offset"] is not None:
            place = row["capture_id"], row["snapshot_end_offset"], row["snapshot_epoch"]
            told[place].append({name: row[name] for name in FINDING})
    return {place: sorted(rows, key=nulls_first) for place, rows in told.items()}


def _first_unknown(found: Iterable[Row]) -> dict[str, int]:
    """By capture_id: the offset of the first record in its log that this release doesn't know."""
    first: dict[str, int] = {}
    for row in found:
        is_told = row["rule"] in NOT_KNOWN and row["snapshot_end_offset"] is None
        if is_told and row["offset"] is not None:
            first[row["capture_id"]] = min(
                first.get(row["capture_id"], row["offset"]), row["offset"]
            )
    return first


def _ids(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in CONTENT_IDS)


def _in_order(sample: Sequence[Row] | None) -> list[Row]:
    return sorted(sample or (), key=nulls_first)
