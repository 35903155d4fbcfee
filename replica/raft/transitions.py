"""The one table of what may follow what; every change of role goes through `check`.

Kafka has it as prose (QuorumState, with KIP-996). An observer uses the rows of Unattached and
Follower alone, and that of Resigned once it has led its own removal from the voter set.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from replica.model.keys import NO_NODE
from replica.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached

Role: TypeAlias = Unattached | Prospective | Candidate | Follower | Leader | Resigned

ROLES: tuple[type[Role], ...] = (Unattached, Prospective, Candidate, Follower, Leader, Resigned)


class Cause(Enum):
    """Why a role changes."""

    HIGHER_EPOCH = auto()
    """A newer epoch is known, its leader isn't."""
    LEADER_FOUND = auto()
    """The leader of this epoch or a newer one is known, or more of its endpoints."""
    VOTED = auto()
    """A vote was granted to another replica in this epoch."""
    TIMEOUT = auto()
    """The election timeout ran out; a follower's fetch timeout; a leader's check-quorum."""
    ELECTION_LOST = auto()
    """A majority will not grant; the pre-vote leads nowhere."""
    MAJORITY_GRANTED = auto()
    PRE_VOTE_UNSUPPORTED = auto()
    """A voter knows no pre-vote, so the real one has to do."""
    RESIGNED = auto()
    """Asked to, shutting down, or removed from the voters."""


TRANSITIONS: dict[tuple[type[Role], Cause], tuple[type[Role], ...]] = {
    **{(role, Cause.HIGHER_EPOCH): (Unattached,) for role in ROLES},
    **{(role, Cause.LEADER_FOUND): (Follower,) for role in ROLES},
    (Unattached, Cause.VOTED): (Unattached,),
    (Prospective, Cause.VOTED): (Prospective,),
    (Unattached, Cause.TIMEOUT): (Prospective,),
    (Follower, Cause.TIMEOUT): (Prospective,),
    (Candidate, Cause.TIMEOUT): (Prospective,),
    (Prospective, Cause.TIMEOUT): (Unattached, Follower),
    (Prospective, Cause.ELECTION_LOST): (Unattached, Follower),
    (Prospective, Cause.MAJORITY_GRANTED): (Candidate,),
    (Prospective, Cause.PRE_VOTE_UNSUPPORTED): (Candidate,),
    (Candidate, Cause.MAJORITY_GRANTED): (Leader,),
    (Leader, Cause.TIMEOUT): (Resigned,),
    (Leader, Cause.RESIGNED): (Resigned,),
    (Resigned, Cause.TIMEOUT): (Unattached,),
}

IMPOSSIBLE: frozenset[tuple[type[Role], Cause]] = frozenset(
    {
        # a lost candidacy is waited out
        *((role, Cause.ELECTION_LOST) for role in ROLES if role is not Prospective),
        *((role, Cause.PRE_VOTE_UNSUPPORTED) for role in ROLES if role is not Prospective),
        *((role, Cause.MAJORITY_GRANTED) for role in (Unattached, Follower, Leader, Resigned)),
        # these have voted, or know a leader
        *((role, Cause.VOTED) for role in (Candidate, Follower, Leader, Resigned)),
        *((role, Cause.RESIGNED) for role in ROLES if role is not Leader),
    }
)

_RAISES_EPOCH_BY_ONE = {(Prospective, Candidate), (Resigned, Unattached)}


def check(current: Role, cause: Cause, following: Role, local_id: int) -> None:
    """Assert that `following` may come after `current`; a wrong one is a bug of the core.

    local_id: NO_NODE for a replica without one, which can neither vote nor stand.
    """
    allowed = TRANSITIONS.get((type(current), cause), ())
    names = f"{type(current).__name__} -> {type(following).__name__} on {cause.name}"
    assert type(following) in allowed, f"illegal transition {names}"
    step = following.epoch - current.epoch
    if cause is Cause.HIGHER_EPOCH:
        assert step > 0, f"{names} needs a higher epoch"
    elif cause is Cause.LEADER_FOUND:
        assert step >= 0, f"{names} to a lower epoch"
    else:
        expected = int((type(current), type(following)) in _RAISES_EPOCH_BY_ONE)
        assert step == expected, f"{names} from epoch {current.epoch} to {following.epoch}"
    if cause is Cause.MAJORITY_GRANTED:
        assert isinstance(current, Prospective | Candidate), "only these ask for votes"
        assert current.tally.is_won, f"{names} without a majority"
    _check_identity(cause, following, local_id)


def _check_identity(cause: Cause, following: Role, local_id: int) -> None:
    if isinstance(following, Follower):
        assert following.leader_id not in (local_id, NO_NODE), "nobody follows itself"
        assert following.leader_endpoints, "a follower knows where its leader listens"
    elif cause is Cause.VOTED:
        voted = following.voted
        assert voted is not None, "a vote is for somebody"
        assert voted.node_id != local_id, "only a candidate votes for itself"
    if following.voted is not None or isinstance(following, Leader | Candidate):
        assert local_id != NO_NODE, "a replica without an id takes no part in elections"
