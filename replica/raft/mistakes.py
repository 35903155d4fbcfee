"""What peers and the host do wrong: the core counts a peer's mistakes, and raises HostError for a
mistake of the host.

The Python library h11 separates these errors in the same way (RemoteProtocolError,
LocalProtocolError). A mistake of the core itself is an AssertionError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from replica.errors import KraftlakeError
from replica.model.keys import NO_NODE

MOST_OFFENCES = 1000
"""The number of different offences that are counted with their senders. A stranger could name a new
sender in each message."""


class Mistake(StrEnum):
    """What is wrong with a message that no correct peer sends. Users read the value."""

    FETCH_NUMBERS = "fetch with impossible numbers"
    FETCH_OF_OWN_ID = "fetch from the leader's own id"
    DRAFT_FETCH_NUMBERS = "draft fetch with impossible numbers"
    VOTE_NUMBERS = "vote request with impossible numbers"
    VOTE_WITHOUT_CANDIDATE = "vote request without a candidate"
    VOTE_OF_OWN_ID = "vote request from the local replica's own id"
    VOTE_ANSWER = "vote answer of a non-voter, or one that changed"
    NO_VOTER = "a request of a node that is no voter"
    EPOCH_WITHOUT_LEADER = "quorum epoch without a leader"
    SECOND_LEADER = "a second leader of one epoch"
    UNEXPLAINED_EPOCH = "an epoch that no election explains"
    ANSWER_NUMBERS = "fetch answered with impossible numbers"
    RECORDS_APART = "records that don't continue the log"
    WATERMARK_FELL = "a high watermark that fell"
    DIVERGING_CUTS_NOTHING = "a diverging epoch that cuts nothing"
    SNAPSHOT_NOT_NEEDED = "a snapshot that needs no fetch"
    SNAPSHOT_SLICE = "snapshot slice that was not asked for"
    SNAPSHOT_BYTES = "a snapshot that is none"


@dataclass(frozen=True, slots=True)
class Offence:
    """A message that no correct peer sends. Such a message changes nothing; Raft.illegal_messages
    counts it.

    mistake: what is wrong with the message.
    sender: the node id that a request names as its sender, or the peer that gave an answer; NO_NODE
        for a request that names no sender.
    message: the name of the message's class in `messages`.
    """

    mistake: Mistake
    sender: int
    message: str


class Offences:
    """The number of times that each offence was found. After MOST_OFFENCES different offences, new
    offences are counted without their senders."""

    def __init__(self) -> None:
        self._counts: Counter[Offence] = Counter()

    @property
    def counts(self) -> Mapping[Offence, int]:
        """The counts. Callers only read them."""
        return MappingProxyType(self._counts)

    def count(self, offence: Offence) -> None:
        if offence not in self._counts and len(self._counts) >= MOST_OFFENCES:
            offence = replace(offence, sender=NO_NODE)
        self._counts[offence] += 1


class HostError(KraftlakeError):
    """The host has made a call that no host may make. The call has changed nothing."""
