"""gold.leader_epoch_history, gold.divergence_points and gold.truncations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.in_memory.capture_groups import moment
from pipelines.in_memory.committed import Batch
from pipelines.in_memory.held import entries_end
from pipelines.in_memory.rows import Row
from pipelines.tables.keys import REPLICA_KEYS


def leader_epoch_history(known: Mapping[tuple[str, int], Row], groups: Iterable[Row]) -> list[Row]:
    """Rows of gold.leader_epoch_history; known: from known_epochs; groups: from group_findings."""
    of_cluster: dict[str, list[Row]] = defaultdict(list)
    for group in groups:
        of_cluster[group["cluster_id"]].append(group)
    rows: list[Row] = []
    following: Row = {}
    for (cluster_id, epoch), fact in sorted(known.items(), key=lambda one: one[0], reverse=True):
        if following.get("cluster_id") != cluster_id:
            following = {"cluster_id": cluster_id, "start_offset": None, "started_at": None}
        commitment, is_on_branch = _judged(epoch, fact["start_offset"], of_cluster[cluster_id])
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
    """The epoch's commitment, and whether it is on the agreed branch.

    A proven epoch is, a superseded one is not. Of another one the newest group decides whose branch
    reaches it; an epoch below every branch (heads deleted everywhere) has nothing beside it.
    """
    if any(_is_proven(epoch, group) for group in groups):
        return "proven", True
    if any(_is_superseded(epoch, start, group) for group in groups):
        return "superseded", False
    judges = [group for group in groups if _reaches(epoch, start, group)]
    return "unproven", not judges or _has(epoch, max(judges, key=moment))


def _reaches(epoch: int, start: int, group: Row) -> bool:
    """Whether the group's branch holds the epoch's first offset, or will hold another one there."""
    if not group["branch"] or group["branch_start"] > start:
        return False
    return bool(start < group["branch_end"] or group["branch"][-1]["epoch"] > epoch)


def _is_proven(epoch: int, group: Row) -> bool:
    """An epoch has one leader, so any proven entry of it proves those before."""
    return any(
        head["epoch"] == epoch and head["commitment"] == "proven" for head in group["epochs"]
    )


def _is_superseded(epoch: int, start: int, group: Row) -> bool:
    """The group holds the head and knows that it lost, or proves another entry at its offset."""
    head = {"epoch": epoch, "start_offset": start, "commitment": "superseded"}
    is_proven_there = any(
        part["commitment"] == "proven" and part["start"] <= start < part["end"]
        for part in group["branch_parts"]
    )
    return head in group["epochs"] or (is_proven_there and not _has(epoch, group))


def _has(epoch: int, group: Row) -> bool:
    return any(entry["epoch"] == epoch for entry in group["branch"])


def divergence_points(
    groups: Iterable[Row], captures: Iterable[Row], newest: Container[tuple[str, str]]
) -> Iterator[Row]:
    """Rows of gold.divergence_points; captures: rows of bronze.captures; newest: from
    newest_groups."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in captures:
        if row["round_name"] is not None:
            names[row["cluster_id"], row["capture_group"]].append(row["round_name"])
    for group in groups:
        place = group["cluster_id"], group["capture_group"]
        for pair in group["pairs"]:
            yield {
                "cluster_id": place[0],
                "capture_group": place[1],
                "is_latest": place in newest,
                "round_name": min(names[place], default=None),
                **pair,
            }


def truncations(
    batches: Iterable[Row],
    committed: Mapping[tuple[str, int], Row],
    proven: Mapping[Batch, Sequence[tuple[int, int]]],
    captures: Iterable[Row],
) -> Iterator[Row]:
    """Rows of gold.truncations: one for each run of offsets that one capture shows to be gone.

    batches, captures: bronze's rows; committed: from committed_log; proven: from proven_ranges.
    What was deleted behind a snapshot is no truncation: that is removed_at.
    """
    gone: dict[tuple[Any, ...], list[tuple[int, Row]]] = defaultdict(list)
    for row in batches:
        if row["truncated_at"] is not None and row["crc_valid"]:
            look = tuple(row[name] for name in (*REPLICA_KEYS, "truncated_at"))
            gone[look] += ((offset, row) for offset in range(row["base_offset"], entries_end(row)))
    rounds: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in captures:
        if row["round_name"] is not None:
            rounds[tuple(row[name] for name in (*REPLICA_KEYS, "captured_at"))].append(
                row["round_name"]
            )
    for look, entries in gone.items():
        entries.sort(key=lambda one: (one[0], one[1]["leader_epoch"], one[1]["crc"]))
        for run in _runs(entries):
            yield {
                **dict(zip((*REPLICA_KEYS, "seen_at"), look, strict=True)),
                "seen_in_round": min(rounds[look], default=None),
                **_of_run(run, committed, proven),
            }


def _runs(entries: Iterable[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    """Neighbouring offsets together; entries: by offset."""
    run: list[tuple[int, Row]] = []
    for entry in entries:
        if run and entry[0] > run[-1][0] + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _of_run(
    run: Sequence[tuple[int, Row]],
    committed: Mapping[tuple[str, int], Row],
    proven: Mapping[Batch, Sequence[tuple[int, int]]],
) -> Row:
    verdicts = [_verdict(offset, row, committed, proven) for offset, row in run]
    seen = [row["last_seen"] for _, row in run if row["last_seen"] is not None]
    return {
        "from_offset": run[0][0],
        "to_offset": run[-1][0] + 1,
        "epochs": sorted({row["leader_epoch"] for _, row in run}),
        "records": len(run),
        "last_seen": max(seen, default=None),
        **{
            f"{verdict}_lost": verdicts.count(verdict)
            for verdict in ("committed", "unproven", "superseded")
        },
    }


def _verdict(
    offset: int,
    row: Row,
    committed: Mapping[tuple[str, int], Row],
    proven: Mapping[Batch, Sequence[tuple[int, int]]],
) -> str:
    """committed: the vanished entry itself is proven; superseded: another one at its offset is."""
    batch = row["cluster_id"], row["base_offset"], row["leader_epoch"], row["crc"]
    if any(low <= offset < high for low, high in proven.get(batch, ())):
        return "committed"
    agreed = committed.get((row["cluster_id"], offset))
    if agreed is not None and agreed["commitment"] == "proven":
        return "superseded"
    return "unproven"
