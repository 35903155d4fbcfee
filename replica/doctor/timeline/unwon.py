"""Finds elections that nobody won after the log's last record. No log has a record of them: only
the epochs in quorum-state show them, without a time."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from replica.doctor.check.known_quorum import compared_logs, known_quorum_of
from replica.doctor.check.other_logs import cluster_logs
from replica.doctor.timeline.branch import Branch
from replica.model.keys import NO_NODE
from replica.words import listed, named

_SHOWN = 5
"""The most nodes that are named."""


class Unwon(NamedTuple):
    """Elections without a winner."""

    at: int
    """The time of the log's last record, in ms since 1970 (UTC)."""
    offset: int
    """The offset of the log's last record."""
    epoch: int
    """The newest epoch that had a leader."""
    nodes: tuple[int, ...]
    """The nodes that saw no winner, ascending."""
    name: str
    """The nodes as a list for people."""
    detail: str
    """What the quorum-state files of the nodes say, as a text."""


def unwon_elections(branch: Branch) -> Unwon | None:
    """The elections that nobody won since the branch's end, as far as the files of the newest round
    know. None where they show no such elections, or where any file names a later leader."""
    newest = branch.rounds[-1]
    led = cluster_logs(branch.members).led_epoch
    logs = cluster_logs(newest)._replace(led_epoch=led)
    states = ((one.replica, one.directory.quorum_state) for one in newest)
    seen = [
        (state.leader_epoch, replica.node_id, state.voted_id == replica.node_id)
        for replica, state in states
        if replica is not None and state is not None and logs.saw_no_winner(state.leader_epoch)
    ]
    held = branch.pieces[-1].examined.batch_at(branch.log.end_offset - 1)
    if not seen or held is None:
        return None
    seen.sort(key=lambda one: (-one[0], one[1]))
    told = [
        f"{named('node', [str(node) for _, node, _ in alike], limit=_SHOWN)} "
        f"{'is' if len(alike) == 1 else 'are'} in epoch {epoch}" + " and voted for itself" * is_own
        for (epoch, is_own), group in groupby(seen, key=itemgetter(0, 2))
        for alike in [list(group)]
    ]
    nodes = tuple(sorted(node for _, node, _ in seen))
    offset = branch.log.end_offset - 1
    above = "" if branch.log.batches[-1].epoch == led else f" in an epoch above {led}"
    return Unwon(
        held[1].header.max_timestamp, offset, led, nodes,
        named("node", [str(node) for node in nodes], limit=_SHOWN),
        f"know{'s' * (len(nodes) == 1)} of no election that was won after offset {offset}{above}: "
        f"{listed(told, limit=_SHOWN)}; the log's last epoch is {branch.log.batches[-1].epoch}",
    )  # fmt: skip


def leader_that_gave_up(branch: Branch) -> int | None:
    """The node whose leadership of the quorum ended, where no directory of the newest round names a
    leader since; else None. See KnownQuorum.gave_up."""
    if not branch.log.batches:
        return None
    members = [one for one in branch.rounds[-1] if one.replica is not None]
    states = [one.directory.quorum_state for one in members]
    last = branch.log.batches[-1].epoch
    if not any(
        one is not None and one.leader_epoch > last and one.leader_id == NO_NODE for one in states
    ):
        return None
    gave_up = known_quorum_of(compared_logs(members)).gave_up
    return None if gave_up is None else gave_up.node_id
