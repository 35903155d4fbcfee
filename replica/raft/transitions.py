"""The table of all changes of role, and the causes of each. `check` is called for every change.

In Kafka this table is a comment in prose (QuorumState, with KIP-996). An observer uses only the
rows of Unattached and Follower. A leader that removed itself from the voter set is an observer with
the role Resigned.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from replica.model.keys import NO_NODE
from replica.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached

Role: TypeAlias = Unattached | Prospective | Candidate | Follower | Leader | Resigned

ROLES: tuple[type[Role], ...] = (Unattached, Prospective, Candidate, Follower, Leader, Resigned)


class TransitionCause(Enum):
    """Why a role changes."""

    HIGHER_EPOCH = auto()
    """The replica learned of a newer epoch, but not the endpoints of that epoch's leader."""
    LEADER_FOUND = auto()
    """The replica learned the leader of this epoch or of a newer epoch, or more endpoints of the
    leader that it knows."""
    VOTED = auto()
    """The replica granted another replica its vote in this epoch."""
    TIMEOUT = auto()
    """A timeout ended: the fetch timeout of a follower, check-quorum of a leader, the election
    timeout of any other role."""
    ELECTION_LOST = auto()
    """So many voters refused the pre-vote that the replica can't reach a majority."""
    MAJORITY_GRANTED = auto()
    PRE_VOTE_UNSUPPORTED = auto()
    """A voter doesn't support pre-votes, so the replica has to ask for votes."""
    RESIGNED = auto()
    """The leader resigned, because its state machine asked for this, because the leader shuts down,
    or because the leader is no longer a voter."""


class Transition(NamedTuple):
    """One change of role, from `of` to `to`. `of` and `to` may be the same role, in different
    epochs."""

    of: type[Role]
    cause: TransitionCause
    to: type[Role]


TRANSITIONS: dict[tuple[type[Role], TransitionCause], tuple[type[Role], ...]] = {
    **{(role, TransitionCause.HIGHER_EPOCH): (Unattached,) for role in ROLES},
    **{(role, TransitionCause.LEADER_FOUND): (Follower,) for role in ROLES},
    (Unattached, TransitionCause.VOTED): (Unattached,),
    (Prospective, TransitionCause.VOTED): (Prospective,),
    (Unattached, TransitionCause.TIMEOUT): (Prospective,),
    (Follower, TransitionCause.TIMEOUT): (Prospective,),
    (Candidate, TransitionCause.TIMEOUT): (Prospective,),
    (Prospective, TransitionCause.TIMEOUT): (Unattached, Follower),
    (Prospective, TransitionCause.ELECTION_LOST): (Unattached, Follower),
    (Prospective, TransitionCause.MAJORITY_GRANTED): (Candidate,),
    (Prospective, TransitionCause.PRE_VOTE_UNSUPPORTED): (Candidate,),
    (Candidate, TransitionCause.MAJORITY_GRANTED): (Leader,),
    (Leader, TransitionCause.TIMEOUT): (Resigned,),
    (Leader, TransitionCause.RESIGNED): (Resigned,),
    (Resigned, TransitionCause.TIMEOUT): (Unattached,),
}

_RAISES_EPOCH_BY_ONE = {(Prospective, Candidate), (Resigned, Unattached)}


def check(current: Role, cause: TransitionCause, following: Role, local_id: int) -> None:
    """Assert that the role `following` may come after `current`; otherwise the core has a bug.

    local_id: NO_NODE for a replica without a node id, which can neither vote nor stand.
    """
    allowed = TRANSITIONS.get((type(current), cause), ())
    names = f"{type(current).__name__} -> {type(following).__name__} on {cause.name}"
    assert type(following) in allowed, f"illegal transition {names}"
    step = following.epoch - current.epoch
    if cause is TransitionCause.HIGHER_EPOCH:
        assert step > 0, f"{names} needs a higher epoch"
    elif cause is TransitionCause.LEADER_FOUND:
        assert step >= 0, f"{names} to a lower epoch"
    else:
        expected = int((type(current), type(following)) in _RAISES_EPOCH_BY_ONE)
        assert step == expected, f"{names} from epoch {current.epoch} to {following.epoch}"
    if cause is TransitionCause.MAJORITY_GRANTED:
        assert isinstance(current, Prospective | Candidate), "only these ask for votes"
        assert current.tally.is_won, f"{names} without a majority"
    _check_identity(cause, following, local_id)


def _check_identity(cause: TransitionCause, following: Role, local_id: int) -> None:
    if isinstance(following, Follower):
        assert following.leader_id not in (local_id, NO_NODE), "nobody follows itself"
        assert following.leader_endpoints, "a follower knows where its leader listens"
    elif cause is TransitionCause.VOTED:
        voted = following.voted
        assert voted is not None, "a vote is for somebody"
        assert voted.node_id != local_id, "only a candidate votes for itself"
    if following.voted is not None or isinstance(following, Leader | Candidate):
        assert local_id != NO_NODE, "a replica without an id takes no part in elections"
