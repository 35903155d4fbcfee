"""silver.committed_log: the agreed branch of a cluster, entry by entry, over all captures.

What is proven in one capture group stays so, up to where a newer group proves another history (in
a cluster that broke Raft's promises). Of what no group proves the newest group decides whose branch
reaches the offset, as it does for gold.leader_epoch_history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pipelines.in_memory.capture_groups import moment
from pipelines.in_memory.held import entries_end
from pipelines.in_memory.rows import HeldBatch, Row
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference, union

_PROVEN = "proven"
_END = 1 << 63
"""Behind every offset."""

Batch = tuple[str, int, int, int]
"""cluster_id, base_offset, leader_epoch, crc."""
_Moment = tuple[Any, ...]


class Piece(NamedTuple):
    """What of a batch some group's branch holds: from low (inclusive) to high (exclusive)."""

    batch: Batch
    low: int
    high: int
    commitment: str


def pieces_of(held: Mapping[str, Sequence[HeldBatch]], parts: Iterable[Row]) -> Iterator[Piece]:
    """A piece for each batch that reaches into a part of its capture's log; held: from by_capture;
    parts: rows of group_findings' branch_parts or overruled."""
    for part in parts:
        for batch in held.get(part["capture_id"], ()):
            low = max(part["start"], batch.base_offset)
            high = min(part["end"], entries_end(batch))
            if low < high:
                yield Piece(_batch(batch), low, high, part["commitment"])


def _batch(held: HeldBatch) -> Batch:
    return held.cluster_id, held.base_offset, held.leader_epoch, held.crc


def committed_log(
    held: Mapping[str, Sequence[HeldBatch]], groups: Iterable[Row]
) -> dict[tuple[str, int], Row]:
    """The rows by cluster_id and offset; groups: from group_findings.

    Offsets that no replica holds have no row.
    """
    of_cluster: dict[str, list[Row]] = defaultdict(list)
    for group in groups:
        of_cluster[group["cluster_id"]].append(group)
    return {
        (cluster_id, offset): {
            "cluster_id": cluster_id,
            "offset": offset,
            "leader_epoch": leader_epoch,
            "crc": crc,
            "commitment": commitment,
        }
        for cluster_id, its_groups in of_cluster.items()
        for offset, (_, _, leader_epoch, crc, commitment) in _best(held, its_groups).items()
    }


def _best(
    held: Mapping[str, Sequence[HeldBatch]], groups: Sequence[Row]
) -> dict[int, tuple[Any, ...]]:
    """By offset of one cluster: is_proven, moment, leader_epoch, crc, commitment of its entry."""
    newer = _NewerGroups(groups)
    best: dict[int, tuple[Any, ...]] = {}
    for piece, at in _pieces(held, groups, newer).items():
        _, _, leader_epoch, crc = piece.batch
        is_proven = piece.commitment == _PROVEN
        claim = is_proven, at, leader_epoch, crc, piece.commitment
        left: Ranges = (OffsetRange(piece.low, piece.high),)
        if not is_proven:
            left = difference(left, newer.passed(leader_epoch, at))
        for offset in (offset for one in left for offset in range(one.start, one.end)):
            best[offset] = max(best.get(offset, claim), claim)
    return best


def _pieces(
    held: Mapping[str, Sequence[HeldBatch]], groups: Iterable[Row], newer: _NewerGroups
) -> dict[Piece, _Moment]:
    """Each piece with the moment of the newest group whose branch has it, cut where a newer group
    proves that a newer epoch began. An unchanged log gives the same pieces in every group."""
    newest: dict[Piece, _Moment] = {}
    for group in groups:
        at = moment(group)
        for piece in pieces_of(held, group["branch_parts"]):
            newest[piece] = max(newest.get(piece, at), at)
    cut: dict[Piece, _Moment] = {}
    for piece, at in newest.items():
        begun = newer.first_successor(piece.batch[2], at)
        shorter = piece._replace(high=min(piece.high, begun))
        if shorter.low < shorter.high:
            cut[shorter] = max(cut.get(shorter, at), at)
    return cut


class _NewerGroups:
    """What the groups of one cluster that are newer than a moment say of the branch."""

    def __init__(self, groups: Iterable[Row]) -> None:
        self._groups = [(moment(group), group) for group in groups if group["branch"]]
        self._successors: dict[tuple[int, _Moment], int] = {}
        self._passed: dict[tuple[int, _Moment], Ranges] = {}

    def first_successor(self, epoch: int, at: _Moment) -> int:
        """Where the first newer epoch begins that they prove: no record of `epoch` was committed
        at that offset or later."""
        if (epoch, at) not in self._successors:
            starts = (
                entry["start_offset"]
                for group in self._newer_than(at)
                for entry in group["branch"]
                if entry["epoch"] > epoch and entry["start_offset"] < _proven_end(group)
            )
            self._successors[epoch, at] = min(starts, default=_END)
        return self._successors[epoch, at]

    def passed(self, epoch: int, at: _Moment) -> Ranges:
        """Where their branches hold an entry, or will hold another one than that of `epoch`."""
        if (epoch, at) not in self._passed:
            self._passed[epoch, at] = union(
                OffsetRange(
                    group["branch_start"],
                    _END if group["branch"][-1]["epoch"] > epoch else group["branch_end"],
                )
                for group in self._newer_than(at)
            )
        return self._passed[epoch, at]

    def _newer_than(self, at: _Moment) -> Iterator[Row]:
        return (group for moment, group in self._groups if moment > at)


def _proven_end(group: Row) -> int:
    """Exclusive; -1 where the group proves nothing."""
    proven = (part["end"] for part in group["branch_parts"] if part["commitment"] == _PROVEN)
    return max(proven, default=-1)


def proven_ranges(
    held: Mapping[str, Sequence[HeldBatch]], groups: Iterable[Row]
) -> dict[Batch, list[tuple[int, int]]]:
    """What (low inclusive, high exclusive) of a batch some capture group proves to be committed,
    also where another proof contradicts it."""
    found: dict[Batch, set[tuple[int, int]]] = defaultdict(set)
    for group in groups:
        parts = (*group["branch_parts"], *group["overruled"])
        for piece in pieces_of(held, (p for p in parts if p["commitment"] == _PROVEN)):
            found[piece.batch].add((piece.low, piece.high))
    return {batch: sorted(ranges) for batch, ranges in found.items()}
