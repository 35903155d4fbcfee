"""Finds by the files of a directory whether its node is one of the voters."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from replica.check.epochs import LeaderChangeBatch
from replica.check.examined import Examined, leaders_of, voter_sets
from replica.history.voters import is_voter
from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys


class QuorumRole(StrEnum):
    """The role of a node in its quorum. The values are part of the output of `check --json`."""

    VOTER = "voter"
    """A controller that votes."""
    OBSERVER = "observer"
    """A broker, or a controller that doesn't vote: the log alone can't tell the two apart."""


def role_of(examined: Examined, changes: Sequence[LeaderChangeBatch]) -> QuorumRole | None:
    """The role of a directory's node. None where no file says which node it is, or who the voters
    are.

    changes: the LeaderChange records of the log, in its order.
    """
    replica = examined.replica
    voters = stated_voters(examined, changes)
    if replica is None or not voters:
        return None
    return QuorumRole.VOTER if is_voter(voters, replica.key) else QuorumRole.OBSERVER


def stated_voters(examined: Examined, changes: Sequence[LeaderChangeBatch]) -> VoterKeys:
    """The voters that the newest voters record of the log and the snapshots names. A static quorum
    has no such record: there the newest LeaderChange record, quorum-state (version 0) or the
    configuration names the voters."""
    newest = max(voter_sets(examined), key=lambda each: each.offset, default=None)
    if newest is not None:
        return newest.voters
    if changes:
        return leaders_of(changes[-1].message)
    directory = examined.directory
    named = () if directory.quorum_state is None else directory.quorum_state.current_voters
    configured = (voter.voter_id for voter in directory.configured_voters or ())
    return frozenset(ReplicaKey(node_id) for node_id in named or configured)
