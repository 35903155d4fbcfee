"""The snapshots of a cluster: check's verdicts on them, by the replay and by comparison with each
other.

The parameter `replayed` has rows of pipelines.replay.compared.REPLAYED. The results of all parts of
a replay are added up, so one row has all results of a comparison.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.replica_logs import one_row_per_capture
from pipelines.cluster.rows import Row, nulls_first
from pipelines.finding_rows import FINDING, finding_row
from pipelines.replay.compared import difference_of
from pipelines.replay.plan import CONTENT_IDS
from pipelines.tables.keys import REPLICA_KEYS, SNAPSHOT_KEYS
from replica.doctor.check.catalogue.log import NOT_KNOWN, UNDECODABLE_RECORD
from replica.doctor.check.same_snapshots import judge_contents
from replica.doctor.check.snapshot_validity import (
    Compared,
    is_broken,
    is_newer,
    judge_compared,
    validity_of,
)
from replica.metadata.image.image import EntityDifference
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.severity import Severity

_UNREADABLE = {UNDECODABLE_RECORD.id, *NOT_KNOWN}
_EVIDENCE = ("rule", "file", "position", "offset", "message")
"""The fields of a finding that gold.snapshot_validity shows."""
_ids = itemgetter(*CONTENT_IDS)
_SHOWN_NAME = re.compile(r"((checkpoints/)?[^/]+?)(\.deleted)?$")
"""The first group of this pattern is the file name that is shown for a snapshot. The table has the
last name of the file, which may have a suffix that Kafka gave it before deletion."""


def judged_snapshots(bronze: BronzeRows, replayed: Iterable[Row]) -> list[Row]:
    """A row for each complete snapshot of each capture: REPLICA_KEYS, end_offset, epoch,
    capture_id, verdict, broken_rules, notes and content_findings. broken_rules, notes: findings, as
    dicts of FINDING. content_findings: the broken_rules and notes that only the replay found, and
    that bronze.findings lacks."""
    told = _told(bronze.findings)
    unknown = _first_unknown(bronze.findings)
    compared = {
        _ids(row): row
        for row in replayed
        if row["content_sha256"] is not None and row["against_sha256"] is None
    }
    return [
        _judged(
            held,
            told.get((held["capture_id"], held["end_offset"], held["epoch"]), []),
            compared.get(_ids(held)),
            unknown.get(held["capture_id"]),
        )
        for held in held_snapshots(bronze)
    ]


def _judged(
    held: Row, told: Sequence[Row], comparison: Row | None, first_unknown: int | None
) -> Row:
    """A row of judged_snapshots. held: a row of held_snapshots. told: bronze's findings on the
    snapshot. comparison: the snapshot's comparison with the replay. first_unknown: the offset of
    the capture in _first_unknown."""
    added = list(_content_findings(held, told, comparison, first_unknown))
    found = [*told, *added]
    severities = [(one["rule"], Severity(one["severity"])) for one in found]
    return {
        **{name: held[name] for name in (*REPLICA_KEYS, "end_offset", "epoch", "capture_id")},
        "verdict": validity_of(severities).value,
        "broken_rules": [one for one in found if _is_broken(one)],
        "notes": [one for one in found if not _is_broken(one)],
        "content_findings": added,
    }


def _is_broken(finding: Row) -> bool:
    return is_broken(finding["rule"], Severity(finding["severity"]))


def _content_findings(
    held: Row, told: Sequence[Row], comparison: Row | None, first_unknown: int | None
) -> Iterator[Row]:
    snapshot_id = OffsetAndEpoch(held["end_offset"], held["epoch"])
    if snapshot_id == BOOTSTRAP_SNAPSHOT or not held["is_whole"]:
        return
    is_readable = not any(one["rule"] in _UNREADABLE for one in told)
    compared = None
    if comparison is not None:
        is_readable = is_readable and not comparison["refused"]
        compared = _compared(comparison, map(difference_of, _in_order(comparison["sample"])))
    unknown: list[int | None] = [None for one in told if one["rule"] in NOT_KNOWN]
    if first_unknown is not None:
        unknown.append(first_unknown)
    found = judge_compared(
        held["file"],
        snapshot_id,
        compared,
        is_readable=is_readable,
        newer=is_newer(snapshot_id, unknown),
    )
    yield from map(finding_row, found)


def _compared(counts: Row, sample: Iterable[EntityDifference]) -> Compared:
    return Compared(counts["orphans"], counts["dropped"], counts["different"], tuple(sample))


def snapshot_validity(judged: Iterable[Row]) -> list[Row]:
    """Rows of gold.snapshot_validity. judged: from judged_snapshots."""
    same = (*REPLICA_KEYS, "end_offset", "epoch", "capture_id", "verdict")
    return [
        {
            **{name: row[name] for name in same},
            **{
                name: [{part: one[part] for part in _EVIDENCE} for one in row[name]]
                for name in ("broken_rules", "notes")
            },
        }
        for row in judged
    ]


def same_snapshot_findings(bronze: BronzeRows, replayed: Iterable[Row]) -> Iterator[Row]:
    """The findings on snapshots of one id, as rows of gold.findings without family and subjects.
    Each snapshot is compared with the first replica's snapshot of the same id in the capture group.
    Snapshots that can't be read as a whole are left out, and so is the bootstrap snapshot 0-0,
    which is no state."""
    compared = {
        (*_ids(row), row["against_sha256"]): row
        for row in replayed
        if row["against_sha256"] is not None and row["refused"] == 0
    }
    for members in _of_one_id(bronze).values():
        first, *others = sorted(members, key=itemgetter("node_id", "directory_id", "file"))
        for other in others:
            yield from _beside_first(other, first, compared)


def _beside_first(other: Row, first: Row, replayed: dict[tuple[Any, ...], Row]) -> Iterator[Row]:
    """The finding on a snapshot whose content differs from the content of the first snapshot with
    its id."""
    low, high = sorted((other["content_sha256"], first["content_sha256"]))
    found = replayed.get((*_ids({**other, "content_sha256": low}), high))
    if low == high or found is None or other["is_unreadable"] or first["is_unreadable"]:
        return
    sample = _in_order(found["sample" if found["different"] else "explained_sample"])
    is_swapped = other["content_sha256"] == high
    compared = _compared(found, (_difference(one, is_swapped=is_swapped) for one in sample))
    snapshot_id = OffsetAndEpoch(other["end_offset"], other["epoch"])
    for finding in judge_contents(other["file"], first["file"], snapshot_id, compared):
        keys = (*REPLICA_KEYS, "capture_id")
        yield {**{name: other[name] for name in keys}, **finding_row(finding)}


def _difference(one: Row, *, is_swapped: bool) -> EntityDifference:
    """The difference of a snapshot from the first snapshot of its id. is_swapped: whether `one` is
    the difference of the first snapshot from this snapshot."""
    found = difference_of(one)
    if not is_swapped:
        return found
    return EntityDifference(found.kind, found.key, found.value_b, found.value_a)


def _of_one_id(bronze: BronzeRows) -> dict[tuple[Any, ...], list[Row]]:
    """The whole snapshots of each capture group and id, each with is_unreadable: whether a record
    in it can't be decoded or is unknown."""
    groups = defaultdict(set)
    for row in bronze.captures:
        groups[row["capture_id"]].add(row["capture_group"])
    unreadable = {
        (row["capture_id"], row["snapshot_end_offset"], row["snapshot_epoch"])
        for row in bronze.findings
        if row["rule"] in _UNREADABLE
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
    `file`, the file's name at ingest."""
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
    """Bronze's findings on each snapshot, by capture_id, end offset and epoch."""
    told = defaultdict(list)
    for row in found:
        if row["snapshot_end_offset"] is not None:
            place = row["capture_id"], row["snapshot_end_offset"], row["snapshot_epoch"]
            told[place].append({name: row[name] for name in FINDING})
    return {place: sorted(rows, key=nulls_first) for place, rows in told.items()}


def _first_unknown(found: Iterable[Row]) -> dict[str, int]:
    """By capture_id: the offset of the log's first record that this release doesn't know."""
    first: dict[str, int] = {}
    for row in found:
        is_told = row["rule"] in NOT_KNOWN and row["snapshot_end_offset"] is None
        if is_told and row["offset"] is not None:
            first[row["capture_id"]] = min(
                first.get(row["capture_id"], row["offset"]), row["offset"]
            )
    return first


def _in_order(sample: Sequence[Row] | None) -> list[Row]:
    return sorted(sample or (), key=nulls_first)
