"""The core's contract as a state and the actions that are allowed in it: elections, replication as
far as truncation and commits need it, and changes of the voters.

The state is that of all replicas at once, with what no replica can know: who led which epoch, which
votes were ever given, what was ever committed. An action first demands what must hold (its guard),
then changes the state. It imports nothing of the core, so that both can't be wrong in the same way.

An entry is a batch. Offsets of ends are exclusive. Each log begins at offset 0 here: what a replica
has in a snapshot alone is a part of the committed log. Times, messages and pre-votes are left out:
any replica may do what is allowed at any time, and a message may be lost or come late.

Sources: Ongaro's dissertation, chapters 3 and 4; KIP-595, KIP-853.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Name(NamedTuple):
    """A replica, or an entry in a voter set. directory: "" in the voter sets of a quorum whose
    voters are configured (kraft.version 0), and in votes from such a quorum's file."""

    node_id: int
    directory: str = ""

    def means(self, replica: Name) -> bool:
        return self.node_id == replica.node_id and self.directory in ("", replica.directory)


Voters = frozenset[Name]


class Entry(NamedTuple):
    """A batch of records. content: equal for equal bytes. voters: the voter set in it."""

    base: int
    end: int
    epoch: int
    content: bytes
    voters: Voters | None = None


class NotAllowedError(AssertionError):
    """The specification doesn't allow this step."""


def demand(holds: bool, why: str) -> None:
    if not holds:
        raise NotAllowedError(why)


@dataclass
class Replica:
    """The content of one replica's disk, and whether it leads.

    first_voters: the voters in force before its log names any.
    committed: the end of what it knows to be committed.
    """

    name: Name
    first_voters: Voters
    epoch: int = 0
    vote: Name | None = None
    leads: bool = False
    log: list[Entry] = field(default_factory=list)
    flushed: int = 0
    committed: int = 0

    @property
    def end(self) -> int:
        return self.log[-1].end if self.log else 0

    @property
    def position(self) -> tuple[int, int]:
        """The value by which logs are compared in an election."""
        return (self.log[-1].epoch if self.log else 0, self.end)

    @property
    def voters(self) -> Voters:
        """The voters in force: the voters that the log names last, committed or not."""
        return self.voter_sets[-1]

    @property
    def voter_sets(self) -> list[Voters]:
        """The voters in force at the end of the committed records, and all sets that the log names
        later."""
        at = self.first_voters
        later = []
        for entry in self.log:
            if entry.voters is not None and entry.end <= self.committed:
                at = entry.voters
            elif entry.voters is not None:
                later.append(entry.voters)
        return [at, *later]


class Specification:
    """The state of all replicas. Each method below `The actions` is one."""

    def __init__(self) -> None:
        self.replicas: dict[Name, Replica] = {}
        self.newest_epoch = 0
        self.leaders: dict[int, Name] = {}
        self.votes: dict[int, dict[Name, Name]] = {}
        """By epoch, each voter and its candidate. A candidate votes for itself."""
        self.stood: dict[tuple[int, Name], tuple[int, int]] = {}
        """The position of the log with which a candidate stands in an epoch, once it is flushed."""
        self.written: dict[tuple[int, int], tuple[Entry, Entry | None]] = {}
        """By epoch and offset, the entry that its leader has appended, and the entry before."""
        self.committed: list[Entry] = []

    # The actions

    def adopt(self, name: Name, epoch: int) -> None:
        """Follow others into a newer epoch, or leave the epoch that the replica itself has led."""
        replica = self.replicas[name]
        demand(epoch > replica.epoch, f"{name} falls from epoch {replica.epoch} to {epoch}")
        has_left = self.leaders.get(replica.epoch) == name and epoch == replica.epoch + 1
        demand(epoch <= self.newest_epoch or has_left, f"{name} makes up epoch {epoch}")
        replica.epoch, replica.vote, replica.leads = epoch, None, False
        self.newest_epoch = max(self.newest_epoch, epoch)

    def stand(self, name: Name, epoch: int) -> None:
        """Becomes a candidate in the next epoch. A voter may stand, and a replica whose removal it
        doesn't know to be committed."""
        replica = self.replicas[name]
        if epoch > replica.epoch + 1:
            self.adopt(name, epoch - 1)
        demand(epoch == replica.epoch + 1, f"{name} stands in {epoch}, not {replica.epoch + 1}")
        may_stand = any(is_named(voters, name) for voters in replica.voter_sets)
        demand(may_stand, f"{name} stands in {epoch} and is no voter")
        replica.epoch, replica.vote, replica.leads = epoch, name, False
        self.newest_epoch = max(self.newest_epoch, epoch)
        self.votes.setdefault(epoch, {})[name] = name
        self._note_flushed(replica)

    def vote(self, name: Name, vote: Name) -> None:
        """Votes for another replica that stands in this epoch, and whose log is at
        least as good."""
        replica = self.replicas[name]
        epoch = replica.epoch
        demand(replica.vote is None, f"{name} votes for {vote} after {replica.vote} in {epoch}")
        demand(not vote.means(name), f"{name} votes for itself, but doesn't stand in {epoch}")
        theirs = [log for (at, who), log in self.stood.items() if at == epoch and vote.means(who)]
        why = f"{name} votes for {vote}, which doesn't stand in {epoch}, or may lose its log"
        demand(bool(theirs), why)
        why = f"{name} votes in {epoch} for {vote}, which has an older log"
        demand(max(theirs) >= replica.position, why)
        replica.vote = vote
        self.votes.setdefault(epoch, {})[name] = vote

    def grant(self, name: Name, candidate: Name) -> None:
        """Tells a candidate that it has the vote. The vote is on the disk by then."""
        vote = self.replicas[name].vote
        given = vote is not None and vote.means(candidate)
        demand(given, f"{name} tells {candidate} that it has its vote, which {vote} has")

    def lead(self, name: Name) -> None:
        """Begins to lead the epoch, with the votes of a majority of the voters in force."""
        replica = self.replicas[name]
        epoch = replica.epoch
        leader = self.leaders.setdefault(epoch, name)
        demand(leader == name, f"{name} leads {epoch}, which {leader} has led")
        votes = self.votes.get(epoch, {})
        granted = [who for who, vote in votes.items() if vote.means(name)]
        demand(is_majority(granted, replica.voters), f"{name} leads {epoch} with {granted}")
        replica.leads = True

    def stop_leading(self, name: Name) -> None:
        self.replicas[name].leads = False

    def append(self, name: Name, entry: Entry) -> None:
        """Appends as the leader. A new voter set differs by one voter; the set before is committed,
        and so is a record of the leader's own epoch."""
        replica = self.replicas[name]
        demand(self.leaders.get(entry.epoch) == name, f"{name} writes in {entry.epoch}: {entry}")
        demand(entry.base == replica.end, f"{name} leaves a gap: {entry}")
        if entry.voters is not None and not is_same_quorum(replica.voters, entry.voters):
            changed = replica.voters ^ entry.voters
            demand(len(changed) == 1, f"{name} changes {sorted(changed)} at once")
            demand(len(replica.voter_sets) == 1, f"{name} changes voters that aren't committed")
            own = any(each.epoch == replica.epoch for each in below(replica.log, replica.committed))
            demand(own, f"{name} changes the voters before it has committed in {replica.epoch}")
        before = replica.log[-1] if replica.log else None
        self.written[entry.epoch, entry.base] = (entry, before)
        replica.log.append(entry)

    def copy(self, name: Name, entry: Entry) -> None:
        """Appends an entry that a leader has appended, where the entry before it is that of the
        leader, too."""
        replica = self.replicas[name]
        demand(entry.epoch <= replica.epoch, f"{name} in {replica.epoch} takes {entry}")
        before = replica.log[-1] if replica.log else None
        known = self.written.get((entry.epoch, entry.base))
        demand(known == (entry, before), f"{name} has {entry} behind {before}; written is {known}")
        replica.log.append(entry)

    def go_by(self, name: Name, voters: Voters) -> None:
        """Uses these voters from now on. In force are the voters that the log names last."""
        named = self.replicas[name].voters
        demand(voters == named, f"{name} goes by {sorted(voters)}; its log names {sorted(named)}")

    def truncate(self, name: Name, end: int) -> None:
        """Truncates the log, but nothing that is committed. A leader never truncates."""
        replica = self.replicas[name]
        demand(not replica.leads, f"{name} leads {replica.epoch} and cuts its log at {end}")
        kept = below(replica.log, end)
        demand(end == (kept[-1].end if kept else 0), f"{name} cuts through an entry at {end}")
        lost = [entry for entry in replica.log[len(kept) :] if self._is_committed(entry)]
        demand(not lost, f"{name} cuts what is committed: {lost}")
        replica.log, replica.flushed = kept, min(replica.flushed, end)

    def crash(self, name: Name) -> None:
        """Goes down. The disk still has the epoch, the vote and what is flushed."""
        replica = self.replicas[name]
        replica.leads, replica.committed = False, 0

    def lose(self, name: Name, end: int) -> None:
        """Comes back without records above `end`, which weren't flushed."""
        replica = self.replicas[name]
        demand(end >= replica.flushed, f"{name} has flushed {replica.flushed} and has {end}")
        replica.log = below(replica.log, end)

    def restart_at(self, name: Name, end: int) -> None:
        """Takes what is committed below `end` for the log, as a snapshot has it."""
        replica = self.replicas[name]
        prefix = below(self.committed, end)
        demand(end == (prefix[-1].end if prefix else 0), f"{name} has a snapshot of {end}")
        demand(not replica.leads, f"{name} leads {replica.epoch} and drops its log")
        replica.log, replica.flushed = prefix, end

    def flush(self, name: Name, end: int) -> None:
        """Makes the log durable up to `end`."""
        replica = self.replicas[name]
        demand(end <= replica.end, f"{name} has flushed {end} of {replica.end}")
        replica.flushed = end
        self._note_flushed(replica)

    def commit(self, name: Name, end: int) -> None:
        """Learns that everything below `end` is committed. A leader may decide this: its own record
        there is flushed on a majority of the voters in force. Other replicas only learn what a
        leader decided."""
        replica = self.replicas[name]
        known = self.committed[-1].end if self.committed else 0
        demand(end >= replica.committed, f"{name} has committed less: {end}")
        prefix = below(replica.log, end)
        demand(end == (prefix[-1].end if prefix else 0), f"{name} lacks records below {end}")
        shared = min(len(prefix), len(self.committed))
        demand(prefix[:shared] == self.committed[:shared], f"{name} commits other records: {end}")
        if end > known:
            demand(replica.leads, f"{name} commits {end} and doesn't lead {replica.epoch}")
            last = prefix[-1]
            demand(last.epoch == replica.epoch, f"{name} commits {last} in {replica.epoch}")
            holders = [
                each.name
                for each in self.replicas.values()
                if each.flushed >= end and last in each.log
            ]
            demand(
                is_majority(holders, replica.voters),
                f"{name} commits {end} with {holders} of {sorted(replica.voters)}",
            )
            self.committed = prefix
        replica.committed = end

    # What actions share

    def _note_flushed(self, replica: Replica) -> None:
        """From now on a candidate may ask for votes: no crash makes its log older."""
        if replica.vote == replica.name and replica.flushed >= replica.end:
            self.stood.setdefault((replica.epoch, replica.name), replica.position)

    def _is_committed(self, entry: Entry) -> bool:
        return any(entry == each for each in self.committed if each.base == entry.base)


def below(log: Sequence[Entry], end: int) -> list[Entry]:
    """The first entries that end at or below `end`."""
    return [entry for entry in log if entry.end <= end]


def is_named(voters: Voters, replica: Name) -> bool:
    return any(voter.means(replica) for voter in voters)


def is_majority(replicas: Collection[Name], voters: Voters) -> bool:
    """Whether more than half of the voters are among the replicas."""
    found = [voter for voter in voters if any(voter.means(each) for each in replicas)]
    return 2 * len(found) > len(voters)


def is_same_quorum(before: Voters, after: Voters) -> bool:
    """Whether both name the same voters, which may get directory ids (an upgrade of kraft.version,
    or new endpoints)."""
    return len(before) == len(after) and all(any(old.means(new) for old in before) for new in after)
