"""Judges a directory's findings about elections by the other logs of its cluster.

The log of a node that was away for long shows elections without a winner, or leaders that changed
nothing. If another log of the cluster shows that the quorum continued, the finding becomes a note.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from replica.doctor.check.catalogue import files, log
from replica.doctor.check.rule import Finding
from replica.doctor.check.state_files import MANY_EPOCHS
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch, election_order


class ClusterLogs(NamedTuple):
    """What the metadata logs of one cluster show together."""

    newest_epoch: int = UNDEFINED_EPOCH
    """The newest epoch of an entry in any log; UNDEFINED_EPOCH if no log has an entry."""
    going_on: OffsetAndEpoch | None = None
    """The end (exclusive) of the newest log, if the quorum works with it; None if this log ends
    with leaders that changed nothing, or if there is no log."""


def beside_other_logs(finding: Finding, end: OffsetAndEpoch | None, logs: ClusterLogs) -> Finding:
    """The finding of one directory, in view of the logs of its cluster. Only this function takes
    other logs into account: `check` and the lake call it, and a verdict takes its results. end: the
    end of the directory's own log; None if it has no record."""
    newest = logs.going_on
    if end is not None and newest is not None and election_order(end) < election_order(newest):
        finding = _gone_on(finding)
    return _led_since(finding, logs.newest_epoch)


def _gone_on(finding: Finding) -> Finding:
    """The finding as a note, because the quorum continued after these leaders by another log."""
    if finding.rule is not log.ENDLESS_ELECTIONS:
        return finding
    return replace(finding, rule=log.EPOCH_CHURN)


def _led_since(finding: Finding, newest_epoch: int) -> Finding:
    """The finding as a note if a log shows a later leader: the elections had a winner, and only the
    node's own log is behind."""
    if finding.rule is not files.ELECTIONS_WITHOUT_WINNER or finding.epoch is None:
        return finding
    has_leader = finding.epoch - newest_epoch < MANY_EPOCHS
    return replace(finding, rule=files.QUORUM_STATE_AHEAD) if has_leader else finding
