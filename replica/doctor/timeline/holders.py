"""Finds which nodes' logs hold a record of the branch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replica.doctor.check.examined import Examined
from replica.doctor.timeline.branch import Branch
from replica.format.segment import numbers_of

Stretch = tuple[int, int, int]
"""(first offset, offset behind the last one, leader epoch) of batches of one epoch that follow each
other."""


@dataclass(frozen=True)
class Holders:
    """The stretches that each node's log holds, in ascending order, by node id. A node of which
    there are several captures has a list for each."""

    stretches: Mapping[int, Sequence[Sequence[Stretch]]]

    @staticmethod
    def of(branch: Branch) -> Holders:
        """Those of all directories of the branch whose node is known."""
        found: dict[int, list[Sequence[Stretch]]] = {}
        for examined in branch.members:
            if examined.replica is not None:
                found.setdefault(examined.replica.node_id, []).append(_stretches(examined))
        return Holders(found)

    def nodes(self, offset: int, epoch: int) -> tuple[int, ...]:
        """The ids of the nodes that hold the record of this offset and epoch, ascending."""
        return tuple(
            sorted(
                node
                for node, logs in self.stretches.items()
                if any(_holds(log, offset, epoch) for log in logs)
            )
        )


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
