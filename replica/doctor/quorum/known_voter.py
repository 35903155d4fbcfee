"""A voter, what is known about its disk, and why no majority may count it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from replica.doctor.quorum.lacks_own import LacksOwn
from replica.doctor.quorum.registered_later import RegisteredLater
from replica.doctor.quorum.went_back import WentBack
from replica.model.keys import ReplicaKey
from replica.words import ms_text


class VoterDoubt(StrEnum):
    """Why no majority may count a voter. The values are part of the output of --json."""

    NOT_GIVEN = "not-given"
    """The voter's directory is not at hand."""
    OF_ANOTHER_CLUSTER = "of-another-cluster"
    """The directory that was given for the voter's node belongs to another cluster, and no
    directory of this node was given for the voter's own cluster."""
    ANOTHER_DIRECTORY = "another-directory"
    """The directories that were given for the voter's node have other directory ids than the voter:
    the disk was replaced or formatted again. The other voters refuse the votes of this node, and
    its fetches don't count for commits."""
    NO_LOG = "no-log"
    """The directory that was given for the voter's node is formatted, and holds no metadata log."""
    UNREADABLE = "unreadable"
    """A part of the voter's log can't be read."""
    CUT = "cut"
    """The copy of the voter's disk is incomplete, so that the end of its log is unknown."""
    STALE = "stale"
    """The voter's directory is older than other facts about the voter: other files show that it led
    or voted in an epoch that the directory lacks, or an earlier capture or the registration of its
    process shows records or epochs that the directory lacks. The directory was restored from an
    older copy, or copied earlier than the others."""
    NO_QUORUM_STATE = "no-quorum-state"
    """The voter has no quorum-state, so it may have voted in an epoch that no file shows."""
    UNREADABLE_QUORUM_STATE = "unreadable-quorum-state"
    """The voter's quorum-state can't be read, so it is unknown in which epochs it voted."""
    OLD_QUORUM_STATE = "old-quorum-state"
    """The voter's quorum-state has an older epoch than its log: the file was put back, or copied
    earlier. The voter may have voted in an epoch that no file shows."""


_REPLACED = (
    VoterDoubt.OF_ANOTHER_CLUSTER,
    VoterDoubt.ANOTHER_DIRECTORY,
    VoterDoubt.NO_LOG,
)
"""The doubts about voters for whose nodes another disk is at hand."""
ABSENT = (VoterDoubt.NOT_GIVEN, *_REPLACED)
"""The doubts about voters whose own disks are not at hand."""
NOT_AT_HAND = (*ABSENT, VoterDoubt.CUT)
"""The doubts about voters whose own disks are not, or not completely, at hand."""
BAD_DISKS = tuple(doubt for doubt in VoterDoubt if doubt not in NOT_AT_HAND)
"""The doubts about disks that are at hand."""
MAY_HAVE_LOST = (
    VoterDoubt.STALE,
    VoterDoubt.NO_QUORUM_STATE,
    VoterDoubt.UNREADABLE_QUORUM_STATE,
    VoterDoubt.OLD_QUORUM_STATE,
)
"""The doubts about disks that may lack votes or acknowledged records of their nodes: see
KnownVoter.danger."""
UNCOUNTED = (*BAD_DISKS, *_REPLACED)
"""The doubts by which a voter must not be counted, whatever further disks would show."""

_VOTES_TWICE = "may vote a second time in an epoch in which it voted already"
_ELECTS_WITHOUT = "may help to elect a leader that lacks committed records"


@dataclass(frozen=True, slots=True)
class KnownVoter:
    """A voter and what is known about its disk."""

    key: ReplicaKey
    """The key of the voter, as the voter set names it."""
    doubt: VoterDoubt | None
    """The reason why no majority may count the voter's disk; None if the disk is at hand and there
    is no such reason."""
    known_epoch: int | None = None
    """The newest epoch in the voter's own files; None without files or quorum-state."""
    attested_epoch: int | None = None
    """The newest epoch in which the voter led or voted, by files other than its own; None if there
    is none."""
    held_end: int | None = None
    """The end (exclusive) of the newest log's entries in the voter's log; None if its disk doesn't
    show what it held."""
    went_back: WentBack | None = None
    """The content of an earlier capture of this voter that its disk lacks now; None if it lacks
    nothing."""
    lived_on: bool = False
    """Whether the voter is known to have run after the newest log grew beyond held_end: its own log
    continues differently, or it led or voted in a newer epoch than the epoch of the next record."""
    lacks_own: LacksOwn | None = None
    """The records that this voter wrote as a leader and that its log lacks; None if it lacks
    none."""
    cut_copy: str = ""
    """The name of the incomplete copy of the voter's disk; "" if there is none."""
    behind_ms: int | None = None
    """How long before the end of the newest log this voter's log ends, in ms; None if it is less
    than COPYING_MS or unknown."""
    registered_later: RegisteredLater | None = None
    """A registration of the voter's process that is newer than the voter's log; None if there is
    none."""
    forgets_votes: bool = False
    """Whether the voter may have voted in an epoch that its quorum-state doesn't know."""
    disk_end: int | None = None
    """The end (exclusive) of the newest log's entries on the voter's disk. Unlike held_end, it is
    also known for a STALE voter; None if the disk is not at hand, or not completely readable."""
    ended_ms: int | None = None
    """The time of the last of the newest log's entries that the voter has, in ms since 1970 (UTC);
    None if it isn't known."""

    def lacking(self, log_end: int) -> str:
        """What the voter's disk lacks of the newest log, and since when, as the end of a sentence;
        "" if this is unknown. log_end: the end (exclusive) of the newest log."""
        if self.disk_end is None:
            return ""
        if self.disk_end >= log_end:
            return "; it lacks no record of the newest log"
        since = "" if self.ended_ms is None else f"since {ms_text(self.ended_ms)} "
        first, last = self.disk_end, log_end - 1
        which = f"offsets {first} to {last}" if first < last else f"offset {last}"
        return f"; {since}it lacks {which}"

    @property
    def is_emptied(self) -> bool:
        """Whether the voter's directory holds neither records nor a vote, although the voter has
        led or voted."""
        return self.known_epoch is None and self.attested_epoch is not None and not self.disk_end

    @property
    def danger(self) -> str:
        """What the voter may do once it is started, as the end of a sentence about the voter; ""
        where no danger is known."""
        if self.doubt is VoterDoubt.UNREADABLE:
            return f"holds records that can't be read: without them it {_ELECTS_WITHOUT}"
        lacks_records = self.lacks_own is not None or self.registered_later is not None
        if self.went_back is not None:
            lacks_records = lacks_records or self.went_back.lacks_acknowledged
        told = [_VOTES_TWICE] * self.forgets_votes
        if lacks_records:
            told.append(f"lacks records that it acknowledged: it {_ELECTS_WITHOUT}")
        return ", and ".join(told)

    @property
    def why_stale(self) -> str:
        """What shows that the voter's disk is older than the voter's own actions, for a voter with
        the doubt STALE."""
        if self.went_back is not None:
            return str(self.went_back)
        if self.lacks_own is not None:
            return str(self.lacks_own)
        if (self.attested_epoch or 0) <= (self.known_epoch or 0):
            if self.registered_later is not None:
                return str(self.registered_later)
            return "other files show more of it than its directory has now"
        if self.is_emptied:
            return f"it led or voted in epoch {self.attested_epoch}, and its metadata log is empty"
        return (
            f"its directory is of epoch {self.known_epoch}, and it led or voted in epoch "
            f"{self.attested_epoch}"
        )

    @property
    def why_doubted(self) -> str:
        """Why the voter's disk can't be relied on, if its node has a disk at hand."""
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
            return f"it has no quorum-state, so it {_VOTES_TWICE}"
        if self.doubt is VoterDoubt.OLD_QUORUM_STATE:
            return f"its quorum-state is older than its log, so it {_VOTES_TWICE}"
        if self.doubt is VoterDoubt.UNREADABLE_QUORUM_STATE:
            return "its quorum-state can't be read, so nobody knows in which epochs it voted"
        return "a part of its log can't be read, so nobody knows all that it holds"

    def holds(self, offset: int) -> bool:
        """Whether the voter is known to hold the entry of the newest log at `offset`."""
        return self.held_end is not None and offset < self.held_end
