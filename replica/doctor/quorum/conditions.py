"""The conditions of answers that are made from the directories of some voters."""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import ABSENT, VoterDoubt
from replica.model.voters import majority
from replica.words import named

_TELL_ALL = (None, VoterDoubt.NO_QUORUM_STATE, VoterDoubt.UNREADABLE_QUORUM_STATE)
"""The doubts about disks whose logs tell all that their voters hold."""


def unseen_voters(quorum: KnownQuorum) -> Iterator[str]:
    """The condition about voters whose logs are not at hand; none if the whole logs of the others
    are those of a majority, which holds all committed records."""
    unseen = [str(voter.key.node_id) for voter in quorum.voters if voter.doubt in ABSENT]
    count = len(quorum.voters)
    seen = sum(voter.doubt in _TELL_ALL for voter in quorum.voters)
    if not unseen or seen >= majority(count):
        return
    has, its = ("has", "its log was") if len(unseen) == 1 else ("have", "their logs were")
    others = f"the whole logs of {seen} of {count} voters are no majority"
    if not seen:
        others = "no voter's whole log is at hand"
    yield f"{named('voter', unseen)} {has} to hold nothing newer: {its} not given, and {others}"
