"""The conditions of answers that are made from the directories of some voters, or about a quorum
that may have no leader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import ABSENT, KnownVoter, VoterDoubt
from replica.model.voters import is_blocking
from replica.words import duration_text, listed, ms_text, named

_TELL_ALL = (
    None,
    VoterDoubt.NO_QUORUM_STATE,
    VoterDoubt.UNREADABLE_QUORUM_STATE,
    VoterDoubt.OLD_QUORUM_STATE,
)
"""The doubts that leave the log itself complete, and None for no doubt: the log on the disk shows
every record that the voter holds."""


class NoLeader(NamedTuple):
    """Why the cluster accepts no change: its quorum has no leader, or may have none."""

    why: str
    """A clause about the quorum, such as `has perhaps no leader, by the verdict`."""
    is_sure: bool
    first: str = (
        "make sure that the quorum has a leader (kafka-metadata-quorum.sh describe --status)"
    )
    """What to do before a change, as a clause."""
    down: frozenset[int] = frozenset()
    """The nodes that are down by the verdict, or reach no voter that runs. No record fences their
    brokers, because only a leader writes one."""


def uncounted_text(voters: Iterable[int]) -> str:
    """A clause about voters with directories that can't be relied on."""
    names = [str(one) for one in sorted(voters)]
    why = "its directory" if len(names) == 1 else "their directories"
    return f"{named('voter', names)} can't be counted: {why} can't be relied on"


def unproven_changes(first: int, proven_end: int) -> str:
    """The changes of a log that aren't proven to be committed, as the subject of a clause in the
    plural. first: the offset of the first of them; the records before it that aren't proven change
    nothing. proven_end: as in KnownQuorum."""
    return f"the changes from offset {first} on" if proven_end else "all changes of the log"


def unseen_voters(quorum: KnownQuorum) -> Iterator[str]:
    """The condition about voters whose logs are not at hand. No condition if these voters are no
    majority, and the whole logs of the others are at hand: each committed record is on a majority,
    so on one of the others."""
    unseen = [str(voter.key.node_id) for voter in quorum.voters if voter.doubt in ABSENT]
    count = len(quorum.voters)
    seen = sum(voter.doubt in _TELL_ALL for voter in quorum.voters)
    if not unseen or is_blocking(seen, count):
        return
    has, its = ("has", "its log was") if len(unseen) == 1 else ("have", "their logs were")
    others = f"the whole logs of {seen} of {count} voters are no majority"
    if not seen:
        others = "no voter's whole log is at hand"
    yield f"{named('voter', unseen)} {has} to hold nothing newer: {its} not given, and {others}"


class NewestLogs(NamedTuple):
    """The voters that hold the newest log, where all of them are needed for a majority, another
    voter is behind, and the logs of all voters are at hand. A leader that was killed leaves no
    record of it: so one of these voters may be down."""

    nodes: tuple[int, ...]
    end_ms: int
    """The time of the newest record, in ms since 1970 (UTC)."""

    @property
    def text(self) -> str:
        """What to do first, as sentences."""
        nodes = named("node", [*map(str, self.nodes)])
        return (
            f"No log here goes on after {ms_text(self.end_ms)}. {nodes[0].upper()}{nodes[1:]} have "
            "the newest logs: if one of them is down since, start it first, with its own disk."
        )

    @property
    def clause(self) -> str:
        """The same as a clause."""
        nodes = listed([*map(str, self.nodes)], last="or")
        return (
            f"if node {nodes} is down since {ms_text(self.end_ms)}, where all logs here end, start "
            "it before any other node, with its own disk"
        )


def late_voters(quorum: KnownQuorum) -> tuple[KnownVoter, ...]:
    """The voters whose logs end long before the newest one, and of which nothing shows whether
    their nodes were stopped or cut off, or their disks are older copies."""
    known = (*quorum.voters, *quorum.leaving)
    return tuple(one for one in known if one.doubt is None and one.behind_ms is not None)


def own_disk_needs(voters: Iterable[KnownVoter]) -> Iterator[str]:
    """For each of these voters (see late_voters) a clause with the condition under which its node
    may start."""
    for voter in voters:
        yield (
            f"node {voter.key.node_id} has to start with its own disk, not with an older copy: its "
            f"log ends {duration_text(voter.behind_ms or 0)} before the newest one, as of a node "
            "that was stopped or cut off, or of an older copy"
        )


def if_its_own(voters: Iterable[KnownVoter]) -> str:
    """A sentence that says to start these voters (see late_voters), and on which condition."""
    late = list(voters)
    nodes = named("node", [str(voter.key.node_id) for voter in late])
    least = duration_text(min(voter.behind_ms or 0 for voter in late))
    if len(late) == 1:
        return (
            f"Start {nodes} only if its disk was not restored from an older copy: its log ends "
            f"{least} before the newest one."
        )
    return (
        f"Start each of {nodes} only if its disk was not restored from an older copy: their logs "
        f"end {least} or more before the newest one."
    )
