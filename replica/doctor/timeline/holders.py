"""Finds which nodes' logs hold a record of the branch, or of a tail beside it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from replica.doctor.check.examined import Examined
from replica.doctor.timeline.branch import Branch, BranchTail
from replica.format.segment import numbers_of

Stretch = tuple[int, int, int]
"""(start offset, inclusive; end offset, exclusive; leader epoch) of consecutive batches of one
epoch."""


@dataclass(frozen=True, eq=False, slots=True)
class HeldLog:
    """The log in one directory."""

    node_id: int
    stretches: Sequence[Stretch]
    """The stretches of offsets that the log holds, ascending."""
    tail: BranchTail | None
    """The entries that the log holds beside the branch; None if all its entries are on the
    branch."""

    def holds(self, offset: int, epoch: int, tail: BranchTail | None) -> bool:
        """Whether the log holds the record of this offset and epoch. tail: the tail that has the
        record; None for the branch. Offset and epoch don't identify a record, because two quorums
        may have the same cluster id."""
        is_there = self.tail is tail
        if tail is None and self.tail is not None:
            is_there = offset < self.tail.start
        return is_there and _holds(self.stretches, offset, epoch)


@dataclass(frozen=True)
class Holders:
    """The logs in all directories of a branch whose node is known."""

    logs: Sequence[HeldLog]

    @staticmethod
    def of(branch: Branch) -> Holders:
        tails = {id(one): tail for tail in branch.tails for one in tail.holders}
        return Holders(
            [
                HeldLog(one.replica.node_id, _stretches(one), tails.get(id(one)))
                for one in branch.members
                if one.replica is not None
            ]
        )

    def nodes(self, offset: int, epoch: int, tail: BranchTail | None) -> tuple[int, ...]:
        """The ids of the nodes that hold the record, ascending. tail: see HeldLog.holds."""
        held = {log.node_id for log in self.logs if log.holds(offset, epoch, tail)}
        return tuple(sorted(held))


def _stretches(examined: Examined) -> list[Stretch]:
    names = ("base_offset", "next_offset", "leader_epoch", "crc_valid")
    found: list[Stretch] = []
    for segment in examined.directory.segments:
        for first, end, epoch, valid in numbers_of(segment.scan.batches, *names):
            if valid and found and found[-1][1:] == (first, epoch):
                found[-1] = (found[-1][0], end, epoch)
            elif valid:
                found.append((first, end, epoch))
    return found


def _holds(log: Sequence[Stretch], offset: int, epoch: int) -> bool:
    place = bisect_right(log, offset, key=lambda stretch: stretch[0]) - 1
    return place >= 0 and log[place][1] > offset and log[place][2] == epoch
