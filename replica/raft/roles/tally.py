"""Votes counted for one election (Kafka: EpochElection)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.errors import KraftlakeError
from replica.history.watermark import majority
from replica.model.voters import Voter, VoterSet


class IllegalVoteError(KraftlakeError):
    """An answer no correct voter gives: from a non-voter, or the opposite of an earlier one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers of `voters` by node id."""

    voters: VoterSet
    granted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= majority(len(self.voters))

    @property
    def is_lost(self) -> bool:
        """Even all open answers would make no majority."""
        return len(self.voters) - len(self.rejected) < majority(len(self.voters))

    @property
    def unanswered(self) -> tuple[Voter, ...]:
        answered = self.granted | self.rejected
        return tuple(voter for voter in self.voters if voter.key.node_id not in answered)

    def recorded(self, node_id: int, *, granted: bool) -> Tally:
        """A final answer. Raises IllegalVoteError where an earlier one was the opposite (C28)."""
        if node_id in (self.rejected if granted else self.granted):
            raise IllegalVoteError(f"node {node_id} changed its vote")
        return self.latest(node_id, granted=granted)

    def latest(self, node_id: int, *, granted: bool) -> Tally:
        """An answer that replaces an earlier one, as pre-votes may (D16)."""
        if self.voters.voter(node_id) is None:
            raise IllegalVoteError(f"node {node_id} answered but is no voter")
        if granted:
            return replace(
                self, granted=self.granted | {node_id}, rejected=self.rejected - {node_id}
            )
        return replace(self, rejected=self.rejected | {node_id}, granted=self.granted - {node_id})
