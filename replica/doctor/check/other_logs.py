"""Judges a directory's findings about elections by the other logs of its cluster.

The log of a node that was away for long shows elections without a winner, or leaders that changed
nothing. If another log of the cluster shows that the quorum continued, the finding becomes a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.check.catalogue import files, log
from replica.doctor.check.examined import Examined
from replica.doctor.check.newest import end_of
from replica.doctor.check.rule import Finding
from replica.doctor.check.state_files import MANY_EPOCHS
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch, election_order
from replica.model.keys import NO_NODE
from replica.words import named

_AHEAD = (files.ELECTIONS_WITHOUT_WINNER, files.QUORUM_STATE_AHEAD)


class ClusterLogs(NamedTuple):
    """What the metadata logs of one cluster show together."""

    led_epoch: int = UNDEFINED_EPOCH
    """The newest epoch that had a leader: a log has an entry of it, or a quorum-state names its
    leader. UNDEFINED_EPOCH if there is none."""
    quorum_epoch: int = UNDEFINED_EPOCH
    """The newest epoch in any quorum-state; UNDEFINED_EPOCH if there is none."""
    going_on: OffsetAndEpoch | None = None
    """The end (exclusive) of the newest log, if the quorum works with it; None if this log ends
    with leaders that changed nothing, or if there is no log."""

    def saw_no_winner(self, epoch: int) -> bool:
        """Whether a node that is in this epoch saw no winner of the many elections since the newest
        leader."""
        is_later = epoch > self.led_epoch
        return is_later and self.quorum_epoch - self.led_epoch >= MANY_EPOCHS


def cluster_logs(
    members: Iterable[Examined], going_on: OffsetAndEpoch | None = None
) -> ClusterLogs:
    """What these metadata logs of one cluster show together. going_on: as in ClusterLogs."""
    led, known = [UNDEFINED_EPOCH], [UNDEFINED_EPOCH]
    for one in members:
        end, state = end_of(one), one.directory.quorum_state
        if end is not None:
            led.append(end.epoch)
        if state is not None:
            known.append(state.leader_epoch)
            if state.leader_id != NO_NODE:
                led.append(state.leader_epoch)
    return ClusterLogs(max(led), max(known), going_on)


def beside_other_logs(finding: Finding, end: OffsetAndEpoch | None, logs: ClusterLogs) -> Finding:
    """The finding of one directory, in view of the logs of its cluster. Only this function takes
    other logs into account: `check` and the lake call it, and a verdict takes its results. end: the
    end of the directory's own log; None if it has no record."""
    newest = logs.going_on
    if end is not None and newest is not None and election_order(end) < election_order(newest):
        finding = _gone_on(finding)
    return _of_all_nodes(finding, logs)


def torn_beside(finding: Finding, node_id: int | None, holders: Mapping[int, int]) -> Finding:
    """A finding about a torn batch, with a message that also names the nodes that hold the batch's
    records. Any other finding is returned unchanged. node_id: the id of the finding's node.
    holders: the end (exclusive) of each node's log of the cluster."""
    if finding.rule is not log.TORN_TAIL or finding.offset is None:
        return finding
    offset = finding.offset
    nodes = [str(one) for one, end in sorted(holders.items()) if end > offset and one != node_id]
    if not nodes:
        return finding
    verb = "holds" if len(nodes) == 1 else "hold"
    told = (
        f"{named('node', nodes)} {verb} the log from offset {offset} on, so nothing is lost: Kafka "
        "cuts the batch off at the next start, and the node fetches it again"
    )
    return replace(finding, message=f"{finding.message}; {told}")


def _gone_on(finding: Finding) -> Finding:
    """A finding about leaders that changed nothing, as a note, because another log shows that the
    quorum continued after them. Any other finding is returned unchanged."""
    if finding.rule is not log.ENDLESS_ELECTIONS:
        return finding
    return replace(finding, rule=log.EPOCH_CHURN)


def _of_all_nodes(finding: Finding, logs: ClusterLogs) -> Finding:
    """A finding about a quorum-state whose epoch is ahead of its log, with the rule that fits the
    files of the whole cluster. The rule is ELECTIONS_WITHOUT_WINNER if no file shows a leader of
    this epoch or of a later one, and the newest quorum-state is at least MANY_EPOCHS above the
    newest leader's epoch. Otherwise it is QUORUM_STATE_AHEAD. Any other finding is returned
    unchanged."""
    if finding.rule not in _AHEAD or finding.epoch is None:
        return finding
    if logs.quorum_epoch == UNDEFINED_EPOCH:  # nothing is known of the cluster's files
        return finding
    is_failing = logs.saw_no_winner(finding.epoch)
    rule = files.ELECTIONS_WITHOUT_WINNER if is_failing else files.QUORUM_STATE_AHEAD
    return replace(finding, rule=rule)
