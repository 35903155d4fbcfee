"""Check's verdict on a snapshot, with what the replay of the agreed branch says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.finding_rows import finding_row
from pipelines.replay.compared import difference_of
from pipelines.tables.keys import REPLICA_KEYS
from replica.check.catalogue.log import NOT_KNOWN, UNDECODABLE_RECORD
from replica.check.same_snapshots import judge_contents
from replica.check.snapshots import Compared, is_broken, is_newer, judge_compared, validity_of
from replica.metadata.image.image import EntityDifference
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.severity import Severity

JUDGED = (
    *REPLICA_KEYS,
    "end_offset", "epoch", "capture_id", "verdict", "broken_rules", "notes", "content_findings",
)  # fmt: skip
"""The columns of a row for each complete snapshot of each capture. broken_rules, notes: findings,
as dicts of FINDING. content_findings: those of broken_rules and notes that only the replay found,
and bronze.findings doesn't have."""

UNREADABLE = {UNDECODABLE_RECORD.id, *NOT_KNOWN}
EVIDENCE = ("rule", "file", "position", "offset", "message")
"""The fields of a finding that gold.snapshot_validity shows."""
SHOWN_NAME = r"((checkpoints/)?[^/]+?)(\.deleted)?$"
"""Its first group is the file name that is shown for a snapshot. The table has the last name of the
file, which may have a suffix that Kafka gave it before deletion."""


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """The verdict on a snapshot, as a row with the columns JUDGED.

    row: REPLICA_KEYS, end_offset, epoch, capture_id, file, is_whole, told (findings of bronze as
    structs of FINDING, or None), comparison (None, or orphans, dropped, different, refused and
    sample), first_unknown (the offset of the first record in the capture's log that this release
    doesn't know, or None).
    """
    told = row["told"] or []
    added = list(_content_findings(row, told))
    found = [*told, *added]
    severities = [(one["rule"], Severity(one["severity"])) for one in found]
    return {
        **{name: row[name] for name in (*REPLICA_KEYS, "end_offset", "epoch", "capture_id")},
        "verdict": validity_of(severities).value,
        "broken_rules": [one for one in found if _is_broken(one)],
        "notes": [one for one in found if not _is_broken(one)],
        "content_findings": added,
    }


def _is_broken(finding: dict[str, Any]) -> bool:
    return is_broken(finding["rule"], Severity(finding["severity"]))


def _content_findings(row: dict[str, Any], told: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    snapshot_id = OffsetAndEpoch(row["end_offset"], row["epoch"])
    if snapshot_id == BOOTSTRAP_SNAPSHOT or not row["is_whole"]:
        return
    comparison = row["comparison"]
    is_readable = not any(one["rule"] in UNREADABLE for one in told)
    compared = None
    if comparison is not None:
        is_readable = is_readable and not comparison["refused"]
        first = tuple(difference_of(one) for one in comparison["sample"])
        orphans, dropped = comparison["orphans"], comparison["dropped"]
        compared = Compared(orphans, dropped, comparison["different"], first)
    unknown: list[int | None] = [None for one in told if one["rule"] in NOT_KNOWN]
    if row["first_unknown"] is not None:
        unknown.append(row["first_unknown"])
    found = judge_compared(
        row["file"],
        snapshot_id,
        compared,
        is_readable=is_readable,
        newer=is_newer(snapshot_id, unknown),
    )
    yield from map(finding_row, found)


def of_same_id(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
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
