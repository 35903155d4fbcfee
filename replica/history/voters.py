"""Finds the voter set that counts for an entry, and whether replicas are a majority of it.

By KIP-853 the newest voters record in a log is in force, committed or not. A static quorum has no
such record: the LeaderChange record of the epoch names its voters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from replica.history.log import OffsetRange, ReplicaLog
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys, majority


def voter_sets_in_force(
    holders: Sequence[ReplicaLog],
    group: Sequence[ReplicaLog],
    runs: Mapping[ReplicaKey, Sequence[OffsetRange]],
    offset: int,
    epoch: int,
) -> tuple[VoterKeys, ...] | None:
    """All voter sets of which the holders of an entry must be a majority; None if one of these sets
    is unknown.

    These are the set in force at the entry (`offset`, `epoch`), and each newer set that a holder
    has above it. A set is known if a holder has every offset from the record that names the set to
    the entry, so that no other voters record can be between. LeaderChange.voters count only if no
    replica of the `group` has a voters record at or below the entry. runs: the offsets that each
    replica holds.
    """
    records = [record for holder in holders for record in holder.voter_sets]
    at_or_below = [record for record in records if record.offset <= offset]
    if at_or_below:
        newest = max(at_or_below, key=lambda record: record.offset)
        source, voters = newest.offset, newest.voters
    elif any(record.offset <= offset for log in group for record in log.voter_sets):
        return None
    else:
        changes = [c for log in holders for c in log.leader_changes if c.epoch == epoch]
        if not changes:
            return None
        source, voters = changes[0].offset, changes[0].voters
    if not any(_holds_all(runs[holder.key], source + 1, offset) for holder in holders):
        return None
    newer = {record.voters for record in records if record.offset > offset}
    return (voters, *newer - {voters})


def is_majority(voters: VoterKeys, holders: Collection[ReplicaKey], seen: set[ReplicaKey]) -> bool:
    """Whether `holders` are a majority of `voters`. Observers among the holders don't count."""
    return sum(is_among(voter, holders, seen) for voter in voters) >= majority(len(voters))


def is_among(voter: ReplicaKey, holders: Collection[ReplicaKey], seen: set[ReplicaKey]) -> bool:
    """Whether a voter is certainly one of the `holders`. A voter without a directory id can be any
    directory of its node (VoterSet.isVoter). If several directories of the node were `seen`, all
    must be holders, because it is unknown which directory is the voter."""
    if voter.directory_id != ZERO_UUID:
        return voter in holders
    matching = {key for key in seen if key.node_id == voter.node_id}
    return bool(matching) and all(key in holders for key in matching)


def is_voter(voters: VoterKeys, key: ReplicaKey) -> bool:
    """Whether a replica is one of the voters."""
    return any(voter.matches(key) for voter in voters)


def _holds_all(held: Sequence[OffsetRange], first: int, last: int) -> bool:
    """Whether `held` has every offset from `first` to `last` (both inclusive). If `first` is above
    `last`, only `last` is checked."""
    return any(run.start <= min(first, last) and last < run.end for run in held)
