"""Findings about the logs of a capture group, and about the records of the agreed branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.finding_rows import finding_row
from replica.check.catalogue import log
from replica.check.directory import describe_refusal
from replica.check.lineage import LogParting, judge_conflict, judge_contested, judge_parting
from replica.check.rule import Finding
from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.history.log import OffsetRange
from replica.metadata.image.replay import Refusal
from replica.model.keys import ReplicaKey

WORDED = ("cluster_id", "capture_id", "rule", "severity", "offset", "epoch", "message")
"""The columns of a finding that lacks only its file. capture_id: None where each capture may hold
the record."""

_Row = dict[str, Any]


def refusal(row: _Row) -> _Row:
    """The finding on a row of refused_records, as a row with the columns WORDED."""
    refused = Refusal(**row["first_refused"])
    message = describe_refusal(refused, row["refused"])
    place = {"offset": refused.offset, "epoch": row["leader_epoch"]}
    found = log.UNAPPLIABLE_RECORD.at("", message, **place)
    return _row(row["cluster_id"], None, found)


def of_group(group: _Row) -> Iterator[_Row]:
    """The findings on a row of group_findings, as rows with the columns WORDED. They are told from
    its columns cluster_id, pairs and contested."""
    cluster_id = group["cluster_id"]
    for capture_id, found in _of_pairs(group["pairs"]):
        yield _row(cluster_id, capture_id, found)
    for contested in group["contested"]:
        offsets = OffsetRange(contested["start"], contested["end"])
        found = judge_contested(offsets, contested["epoch"])
        yield _row(cluster_id, contested["capture_id"], found)


def _of_pairs(rows: list[_Row]) -> Iterator[tuple[str, Finding]]:
    """(capture_id, finding) of each pair, in the order of the replicas."""
    partings: dict[tuple[str, LogParting], list[int]] = {}
    conflicts: dict[tuple[str, int, int], list[int]] = {}
    for row in rows:
        if row["relation"] == Relation.CONFLICT.value:
            place = row["capture_a"], row["conflict_offset"], row["conflict_epoch"]
            conflicts.setdefault(place, []).append(row["node_b"])
        if row["relation"] != Relation.DIVERGED.value:
            continue
        a, b = ("a", "b") if row["truncating_node"] != row["node_b"] else ("b", "a")
        parting = _parting(row, a, b)
        partings.setdefault((row[f"capture_{a}"], parting), []).append(row[f"node_{b}"])
    for (capture_id, offset, epoch), others in conflicts.items():
        yield capture_id, judge_conflict(offset, epoch, others)
    for (capture_id, parting), others in partings.items():
        for found in judge_parting(parting, others):
            yield capture_id, found


def _parting(row: _Row, loser: str, winner: str) -> LogParting:
    lost = None
    if row["truncating_node"] is not None:
        names = ("committed_lost", "unproven_lost", "superseded_lost")
        lost = Losses(*(row[name] for name in names))
    return LogParting(
        ReplicaKey(row[f"node_{loser}"], row[f"directory_{loser}"]),
        row["divergence_offset"],
        row[f"epoch_{loser}"],
        row[f"epoch_{winner}"],
        row["truncation_offset"],
        row["records_lost"],
        lost,
    )


def _row(cluster_id: str, capture_id: str | None, found: Finding) -> _Row:
    row = {"cluster_id": cluster_id, "capture_id": capture_id, **finding_row(found)}
    return {name: row[name] for name in WORDED}
