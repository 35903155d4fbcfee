"""gold.leader_epoch_history: the leader of each epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from pipelines.cluster.rows import Row
from pipelines.silver.capture_groups import moment
from pipelines.silver.committed_log import AgreedBranch


def leader_epoch_history(
    cluster_id: str, known: Mapping[int, Row], groups: Sequence[Row], agreed: AgreedBranch
) -> list[Row]:
    """Rows of gold.leader_epoch_history. known: from known_epochs. groups: from group_findings."""
    rows: list[Row] = []
    following: Row = {"start_offset": None, "started_at": None}
    for epoch, fact in sorted(known.items(), key=itemgetter(0), reverse=True):
        commitment, is_on_branch = _judged(epoch, fact["start_offset"], groups)
        if commitment == "proven" and agreed.is_contested(fact["start_offset"], epoch):
            commitment = "unproven"
        row = {
            **{"cluster_id": cluster_id, "epoch": epoch, **fact},
            "end_offset": following["start_offset"],
            "ended_at": following["started_at"],
            "commitment": commitment,
        }
        rows.append(row)
        if is_on_branch:
            following = row
    return rows


def _judged(epoch: int, start: int, groups: Sequence[Row]) -> tuple[str, bool]:
    """The epoch's commitment, and whether the epoch is on the agreed branch.

    A proven epoch is on the branch, a superseded epoch isn't. For another epoch the newest group
    whose branch reaches it decides. An epoch below the start of every group's branch counts as on
    the branch: the heads of all logs were deleted.
    """
    if any(_is_proven(epoch, group) for group in groups):
        return "proven", True
    if any(_is_superseded(epoch, start, group) for group in groups):
        return "superseded", False
    judges = [group for group in groups if _reaches(epoch, start, group)]
    return "unproven", not judges or _has(epoch, max(judges, key=moment))


def _reaches(epoch: int, start: int, group: Row) -> bool:
    """Whether the group's branch decides which entry stands at the epoch's first offset: the branch
    holds that offset, or the branch ends before and has a newer epoch."""
    if not group["branch"] or group["branch_start"] > start:
        return False
    return bool(start < group["branch_end"] or group["branch"][-1]["epoch"] > epoch)


def _is_proven(epoch: int, group: Row) -> bool:
    """Whether the group proves the epoch. An epoch has one leader, so a proven entry of the epoch
    proves the epoch's earlier entries."""
    return any(
        head["epoch"] == epoch and head["commitment"] == "proven" for head in group["epochs"]
    )


def _is_superseded(epoch: int, start: int, group: Row) -> bool:
    """Whether the group proves another entry at the epoch's first offset, or has the epoch's first
    entry as superseded."""
    head = {"epoch": epoch, "start_offset": start, "commitment": "superseded"}
    is_proven_there = any(
        part["commitment"] == "proven" and part["start"] <= start < part["end"]
        for part in group["branch_parts"]
    )
    return head in group["epochs"] or (is_proven_there and not _has(epoch, group))


def _has(epoch: int, group: Row) -> bool:
    return any(entry["epoch"] == epoch for entry in group["branch"])
