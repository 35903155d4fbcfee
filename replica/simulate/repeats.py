"""Checks that no replica asks a peer the same thing again and again without a pause."""

from __future__ import annotations

from replica.model.keys import ReplicaKey
from replica.raft.effects import Effects
from replica.raft.messages import PeerRequest
from replica.raft.transitions import TransitionCause
from replica.simulate.broken import broken
from replica.simulate.host import SimulatedHost
from replica.simulate.node import key_of


class Repeats:
    """Checks the requests of all replicas. Within `retry_backoff_ms`, a replica sends a peer no
    request that is equal to the newest one of its kind, as long as the replica keeps its role. An
    answer in between makes no difference: after an answer that brings something, the next request
    is another one."""

    def __init__(self) -> None:
        self._newest: dict[ReplicaKey, dict[tuple[int, type], tuple[PeerRequest, int]]] = {}

    def opened(self, host: SimulatedHost) -> None:
        """Forget what a replica sent before it restarted."""
        self._newest.pop(key_of(host), None)

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """Check a step. A change of role forgets the requests before it; a vote is no change of
        role."""
        key, now = key_of(host), host.taken_at
        if any(each.cause is not TransitionCause.VOTED for each in host.raft.transitions):
            self._newest.pop(key, None)
        if not effects.sends:
            return
        newest = self._newest.setdefault(key, {})
        for send in effects.sends:
            kind = send.node_id, type(send.message)
            before, at = newest.get(kind, (None, 0))
            if before == send.message and now < at + host.config.retry_backoff_ms:
                broken("legal messages", f"{key} asks {send.node_id} again after {now - at} ms")
            newest[kind] = send.message, now
