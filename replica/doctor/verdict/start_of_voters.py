"""Which voters start, with their own disks, so that a quorum without a leader has a majority again.
The verdict, and each command that says how to go on, takes the nodes and their order from here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.model.voters import majority
from replica.words import listed, named, sentence

_SHOWN = 5
_UNSEEN = (VoterDoubt.NOT_GIVEN, VoterDoubt.CUT)
_OWN_DISKS = (
    "Each starts with its own disk, not with an older copy; no disk has to be emptied. End a "
    "process that hangs before."
)
_OWN_DISK = (
    "The disk may run in another machine, but no older copy will do, and no disk that was "
    "formatted anew. End a process that hangs before."
)
NO_BROKER = "Stop no broker before there is a leader."
WHY_NOT = "find out what keeps it from reaching {}: addresses, certificates, cluster ids."


@dataclass(frozen=True, slots=True)
class StartOfVoters:
    """The voters that start. Each starts with its own disk, and no disk is emptied or formatted."""

    beside: tuple[int, ...]
    """The voters that run, as far as files show. The voters that start make a majority with
    them."""
    first: tuple[int, ...]
    """The voters that start first, of those whose whole disks are at hand: as many as are needed,
    with the longest logs. Sorted."""
    rest: tuple[int, ...]
    """The other voters that don't run and whose whole disks are at hand, sorted."""
    unseen: tuple[int, ...]
    """The voters whose directories were not given, or not completely, sorted."""
    of_unseen: int
    """How many of the voters in `unseen` have to start, too."""
    voters: int
    """The number of all voters."""
    holds_all: bool
    """Whether the logs of `first` hold all that the other logs hold."""
    may_run: bool = False
    """Whether the voters that start may run already, and have a leader."""

    @property
    def clause(self) -> str:
        """What to start, as a clause that begins with a small letter."""
        if not self.may_run:
            return self._start()
        is_one, others = len(self.others) == 1, _nodes(self.others)
        if is_one:
            return (
                f"find out whether {others} runs; if not, start it with its own disk{self.enough}"
            )
        return (
            f"find out whether {others} run, and start those that don't, each with its own disk"
            f"{self.enough}"
        )

    @property
    def others(self) -> tuple[int, ...]:
        """The voters that start, or may have to."""
        return tuple(sorted((*self.first, *self.rest, *self.unseen)))

    @property
    def enough(self) -> str:
        """How many of the others are needed, such as ` (1 of them and node 2 are a majority)`."""
        beside = f" and {_nodes(self.beside)}" * bool(self.beside)
        return f" ({len(self.first) + self.of_unseen} of them{beside} are a majority)"

    @property
    def text(self) -> str:
        """What to start, and how, as sentences."""
        beside = _nodes(self.beside)
        if self.of_unseen:
            why_not = f"If it runs, {WHY_NOT.format(beside)}"
            return " ".join([sentence(self._start()), _OWN_DISK, why_not, NO_BROKER])
        hold = f"hold{'s' * (len(self.beside) == 1)}"
        its = "its log holds" if len(self.first) == 1 else "their logs hold"
        told = [sentence(self._start(f"{its} all that {beside} {hold}, and " * self.holds_all))]
        told += [f"Then start {_nodes(self.rest)}."] * bool(self.rest)
        why_not = f"If one of them runs, {WHY_NOT.format(beside)}"
        return " ".join([*told, _OWN_DISKS, why_not, NO_BROKER])

    def _start(self, why: str = "") -> str:
        """The value of `clause` for voters that don't run. why: a reason that stands before the
        reason about the majority."""
        is_one = len(self.first) + self.of_unseen == 1
        with_them = f"with {_nodes(self.beside)} {'it is' if is_one else 'they are'} a majority"
        if not self.of_unseen:
            return f"start {_nodes(self.first)} first: {why}{with_them}"
        disk = "its own disk" if is_one else "their own disks"
        if self.of_unseen < len(self.unseen):
            disk += ", whichever still has it" if is_one else ", those that still have them"
        started = " and ".join([*([_nodes(self.first)] * bool(self.first)), self._chosen])
        return f"start {started} with {disk}: {with_them} of the {self.voters} voters"

    @property
    def _chosen(self) -> str:
        """The voters that start without a given directory."""
        if self.of_unseen == len(self.unseen):
            return _nodes(self.unseen)
        if self.of_unseen == 1:
            return f"node {listed([*map(str, self.unseen)], last='or')}"
        return f"{self.of_unseen} of {_nodes(self.unseen)}"


def start_of_voters(
    beside: Collection[int], known: Sequence[KnownVoter], *, may_run: bool = False
) -> StartOfVoters | None:
    """The start; None where no voter runs or may run, where the voters that run are a majority
    already, or where no voters are left that would make one with them. beside, may_run: see
    StartOfVoters. known: all voters."""
    ends = {one.key.node_id: one.held_end or 0 for one in known if one.doubt is None}
    order = sorted(ends.keys() - {*beside}, key=lambda node: (-ends[node], node))
    unseen = tuple(one.key.node_id for one in known if one.doubt in _UNSEEN)
    needed = majority(len(known)) - len(beside)
    first = order[: max(needed, 0)]
    of_unseen = needed - len(first)
    if needed <= 0 or not (beside or may_run) or of_unseen > len(unseen):
        return None
    longest = max(ends.values(), default=0)
    return StartOfVoters(
        tuple(sorted(beside)),
        tuple(sorted(first)),
        tuple(sorted(order[len(first) :])),
        unseen,
        of_unseen,
        len(known),
        holds_all=all(ends[node] == longest for node in first),
        may_run=may_run,
    )


def _nodes(nodes: Iterable[int]) -> str:
    return named("node", [*map(str, nodes)], limit=_SHOWN)
