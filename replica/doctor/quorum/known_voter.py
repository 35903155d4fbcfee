"""A voter, and what is known of its disk: why no majority may count it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from replica.doctor.quorum.lacks_own import LacksOwn
from replica.doctor.quorum.registered_later import RegisteredLater
from replica.doctor.quorum.went_back import WentBack
from replica.model.keys import ReplicaKey


class VoterDoubt(StrEnum):
    """Why no majority may count a voter. The values are part of the output of --json."""

    NOT_GIVEN = "not-given"
    """Its directory is not at hand."""
    OF_ANOTHER_CLUSTER = "of-another-cluster"
    """The directory that was given for its node is of another cluster, and none is of its own."""
    ANOTHER_DIRECTORY = "another-directory"
    """The directory that was given for its node has another directory id than the voter, and none
    that was given has the voter's: the disk was replaced or formatted anew. The voters refuse the
    votes of such a node, and its fetches don't commit."""
    NO_LOG = "no-log"
    """The directory that was given for its node is formatted, and holds no metadata log."""
    UNREADABLE = "unreadable"
    """A part of its log can't be read."""
    CUT = "cut"
    """The copy of its disk breaks off, so that nobody knows where its log ends."""
    STALE = "stale"
    """Other files show that it led or voted in an epoch of which its own directory knows nothing:
    the directory was restored from an older copy, or copied earlier than the others. Or an earlier
    capture of it shows more than it has now, or its process registered with more."""
    NO_QUORUM_STATE = "no-quorum-state"
    """It has no quorum-state, so it may have voted in an epoch that no file shows."""
    UNREADABLE_QUORUM_STATE = "unreadable-quorum-state"
    """Its quorum-state is there and can't be read: nobody knows in which epochs it voted."""


_REPLACED = (
    VoterDoubt.OF_ANOTHER_CLUSTER,
    VoterDoubt.ANOTHER_DIRECTORY,
    VoterDoubt.NO_LOG,
)
"""The doubts about voters of whose nodes another disk is at hand."""
ABSENT = (VoterDoubt.NOT_GIVEN, *_REPLACED)
"""The doubts about voters of whose own disks nothing is at hand."""
NOT_AT_HAND = (*ABSENT, VoterDoubt.CUT)
"""The doubts about voters of whose own disks nothing is at hand, or a part."""
BAD_DISKS = tuple(doubt for doubt in VoterDoubt if doubt not in NOT_AT_HAND)
"""The doubts about disks that are at hand."""
MAY_VOTE_TWICE = (
    VoterDoubt.STALE,
    VoterDoubt.NO_QUORUM_STATE,
    VoterDoubt.UNREADABLE_QUORUM_STATE,
)
"""The doubts about disks that may have forgotten in which epochs their nodes voted."""
UNCOUNTED = (*BAD_DISKS, *_REPLACED)
"""The doubts by which a voter may not be counted, whatever a look at further disks would show."""


@dataclass(frozen=True, slots=True)
class KnownVoter:
    """A voter and what is known of its disk."""

    key: ReplicaKey
    """The key of the voter, as the voter set names it."""
    doubt: VoterDoubt | None
    """The reason why no majority may count the voter's disk; None where the disk is at hand and
    there is no such reason."""
    known_epoch: int | None = None
    """The newest epoch that its own files show; None without files or quorum-state."""
    attested_epoch: int | None = None
    """The newest epoch in which other files show that it led or voted; None where none does."""
    held_end: int | None = None
    """The end (exclusive) of the entries of the newest log that its log has; None where its disk
    can't tell what it held."""
    went_back: WentBack | None = None
    """What an earlier capture of this voter shows, and its disk lacks now; None where the disk
    lacks nothing of it."""
    lived_on: bool = False
    """Whether it is known to have run after the newest log went on beyond held_end: its own log
    goes on otherwise, or it led or voted in a newer epoch than that of the next record there."""
    lacks_own: LacksOwn | None = None
    """The records that this voter wrote as a leader and that its log lacks; None where it lacks
    none."""
    cut_copy: str = ""
    """The name of the copy of its disk that breaks off; "" where none does."""
    behind_ms: int | None = None
    """How long before the end of the newest log its log ends, in ms; None where that is soon."""
    registered_later: RegisteredLater | None = None
    """The registration of its process that came after what its log holds; None where none did."""

    @property
    def why_stale(self) -> str:
        """Why its disk is older than what is known of it, for a voter with this doubt."""
        if self.went_back is not None:
            return str(self.went_back)
        if self.lacks_own is not None:
            return str(self.lacks_own)
        if (self.attested_epoch or 0) <= (self.known_epoch or 0):
            if self.registered_later is not None:
                return str(self.registered_later)
            return "an earlier capture of it shows more than its directory has now"
        return (
            f"its directory is of epoch {self.known_epoch}, and it led or voted in epoch "
            f"{self.attested_epoch}"
        )

    @property
    def why_doubted(self) -> str:
        """Why its disk can't be relied on, for a voter for whose node a disk is at hand."""
        if self.doubt is VoterDoubt.STALE:
            return f"{self.why_stale}: restored from an older copy, or copied earlier"
        if self.doubt is VoterDoubt.OF_ANOTHER_CLUSTER:
            return "the disk that was given for its node is of another cluster"
        if self.doubt is VoterDoubt.ANOTHER_DIRECTORY:
            return (
                "the directory that was given for its node has another directory id than the "
                "voter, so its votes don't count"
            )
        if self.doubt is VoterDoubt.NO_LOG:
            return "the directory that was given for its node holds no metadata log"
        if self.doubt is VoterDoubt.CUT:
            return f"{self.cut_copy} breaks off, so nobody knows where its log ends"
        if self.doubt is VoterDoubt.NO_QUORUM_STATE:
            return "it has no quorum-state, so it may vote twice in one epoch"
        if self.doubt is VoterDoubt.UNREADABLE_QUORUM_STATE:
            return "its quorum-state can't be read, so nobody knows in which epochs it voted"
        return "a part of its log can't be read, so nobody knows all that it holds"

    def holds(self, offset: int) -> bool:
        """Whether it is known to hold this entry of the newest log."""
        return self.held_end is not None and offset < self.held_end
