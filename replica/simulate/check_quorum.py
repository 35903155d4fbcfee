"""Checks how long a leader continues to lead while less than a majority fetches from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from replica.model.keys import ReplicaKey
from replica.model.voters import VoterSet, majority
from replica.raft.inputs import Request
from replica.raft.messages import FetchRequest, FetchSnapshotRequest
from replica.raft.roles import Leader
from replica.simulate.broken import broken
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import Shadow
from replica.simulate.node import key_of

LONGEST = 3
"""The most fetch timeouts for which a leader may lead without a majority. The core's deadline is
1.5 fetch timeouts after a majority has fetched, and the fetches of this majority may be another 1.5
fetch timeouts apart."""


@dataclass(slots=True)
class _Term:
    """A leader's time in an epoch. Times are in ms of the leader's clock.

    since: the time from which on a majority of `voters` must fetch.
    fetched: the time of each replica's last fetch.
    stepped: the time of the leader's newest step.
    """

    epoch: int
    voters: VoterSet
    since: int
    stepped: int
    fetched: dict[ReplicaKey, int] = field(default_factory=dict)


class CheckQuorum:
    """Checks how long leaders lead while no majority fetches from them. judged: how often each
    invariant was judged; "check quorum" counts each leader of an epoch once."""

    def __init__(self, judged: Counter[str]) -> None:
        self._judged = judged
        self._terms: dict[ReplicaKey, _Term] = {}

    def opened(self, host: SimulatedHost) -> None:
        """Forget a host's replica of the time before a restart."""
        self._terms.pop(key_of(host), None)

    def stepped(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check a step of a leader. If a slow disk has stopped the machine, the time without a
        majority is counted from this step on, because the fetches that arrived during the stop
        still wait."""
        role, now = host.raft.role, host.taken_at
        if not isinstance(role, Leader):
            return
        key, wait, voters = key_of(host), host.config.fetch_timeout_ms, shadow.voters
        term = self._terms.get(key)
        if term is None or term.epoch != role.epoch:
            term = self._terms[key] = _Term(role.epoch, voters, now, now)
            self._judged["check quorum"] += 1
        if voters is not term.voters or now - term.stepped > wait:
            term.voters, term.since = voters, now
        term.stepped = now
        message = host.taken.message if isinstance(host.taken, Request) else None
        if isinstance(message, FetchRequest | FetchSnapshotRequest):
            term.fetched[message.replica] = now
        if now - term.since <= LONGEST * wait:
            return
        alone = now - max(term.since, self._majority_at(key, term))
        if alone > LONGEST * wait:
            broken("check quorum", f"{key} leads {role.epoch} after {alone} ms without a majority")

    def _majority_at(self, key: ReplicaKey, term: _Term) -> int:
        """The newest time at which a majority had fetched; if the leader alone is a majority, the
        time of its newest step."""
        voters = term.voters
        needed = majority(len(voters)) - voters.is_voter(key)
        if needed < 1:
            return term.stepped
        times = [
            max((at for other, at in term.fetched.items() if voter.matches(other)), default=0)
            for voter in voters.others(key)
        ]
        return sorted(times, reverse=True)[needed - 1]
