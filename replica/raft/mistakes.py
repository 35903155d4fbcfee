"""What peers and the host do wrong: the core counts a peer's mistakes, and raises the host's.

h11 draws the same line (RemoteProtocolError, LocalProtocolError). A mistake of the core itself is
an AssertionError.
"""

from __future__ import annotations

from enum import StrEnum

from replica.errors import KraftlakeError


class Offence(StrEnum):
    """What no correct peer sends. Such a message changes nothing; Raft.illegal_messages counts it.
    Each value is the text that a user reads."""

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


class HostError(KraftlakeError):
    """The host has called the core as no host may. Nothing has changed."""
