"""How far a replica's log is, as its leader knows by the replica's fetches.

Kafka: LeaderState.ReplicaState.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """What its leader knows of one replica by its fetches. Times are in ms of the leader's clock.
    A field is -1 while it is unknown.

    log_end: where the replica's log ends (exclusive).
    last_fetch: the time of the last fetch.
    last_fetch_leader_end: where the leader's log ended at that time (exclusive).
    last_caught_up: the last time at which the replica had all of the leader's log.
    """

    log_end: int = 0
    last_fetch: int = -1
    last_fetch_leader_end: int = -1
    last_caught_up: int = -1

    def fetched(self, fetch_offset: int, leader_end: int, now_ms: int) -> ReplicaProgress:
        """The progress after a fetch at `fetch_offset`. If the replica has all of the leader's log,
        it is caught up now. If it has all that the leader's log held at the replica's fetch before,
        it was caught up at that time (KIP-836, LeaderState.ReplicaState.updateFollowerState)."""
        caught_up = self.last_caught_up
        if fetch_offset >= leader_end:
            caught_up = max(now_ms, caught_up)
        elif self.last_fetch_leader_end >= 0 and fetch_offset >= self.last_fetch_leader_end:
            caught_up = max(self.last_fetch, caught_up)
        return ReplicaProgress(fetch_offset, max(now_ms, self.last_fetch), leader_end, caught_up)
