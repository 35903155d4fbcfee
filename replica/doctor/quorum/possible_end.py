"""The end of the part of the newest log that may be committed."""

from __future__ import annotations

from collections.abc import Sequence

from replica.doctor.quorum.known_voter import MAY_HAVE_LOST, KnownVoter
from replica.history.log import ReplicaLog
from replica.model.voters import majority


def possible_end(newest: ReplicaLog, sets: Sequence[Sequence[KnownVoter]]) -> int:
    """The end (exclusive) of the part of the newest log that a majority of one of these voter sets
    may have held. A voter whose disk is unreadable, or may have been emptied, may have held all of
    it."""

    def may_have_held(voter: KnownVoter) -> int:
        is_unknown = voter.held_end is None or voter.doubt in MAY_HAVE_LOST
        return newest.end_offset if is_unknown else voter.held_end or 0

    ends = [
        sorted(map(may_have_held, voters), reverse=True)[majority(len(voters)) - 1]
        for voters in sets
    ]
    return max(ends, default=newest.end_offset)
