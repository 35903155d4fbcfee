"""The voter sets whose majorities count at the end of a log."""

from __future__ import annotations

from replica.history.log import ReplicaLog
from replica.model.voters import VoterKeys, VotersAt


def voter_sets_at_end(log: ReplicaLog, proven_end: int) -> tuple[VoterKeys, ...]:
    """The voter sets that may count: the set in force at the log's end and, if it isn't proven to
    be committed, the previous set. No leader appends other voters before the last set is committed,
    so there are at most two sets. A leader may append the same voters again, with another address.
    Empty if one of the sets is unknown."""
    if not (log.voter_sets or log.leader_changes):
        return ()
    newest = max(log.voter_sets or log.leader_changes, key=_offset)
    if newest.offset < proven_end or not log.voter_sets:
        return (newest.voters,)
    older = [*log.voter_sets, *log.leader_changes]
    older = sorted((each for each in older if each.offset < newest.offset), key=_offset)
    for each in reversed(older):
        if _nodes(each) != _nodes(newest):
            return (newest.voters, each.voters)
        if each in log.voter_sets and each.offset < proven_end:
            return (newest.voters,)
    return (newest.voters, older[0].voters) if older else ()


def _offset(set_at: VotersAt) -> int:
    return set_at.offset


def _nodes(set_at: VotersAt) -> frozenset[int]:
    return frozenset(voter.node_id for voter in set_at.voters)
