"""What a leader keeps beside its role (roles.Leader), which each fetch of a voter copies."""

from __future__ import annotations

from replica.raft.config import Config
from replica.raft.leader.accumulator import BatchAccumulator
from replica.raft.leader.observers import ObserverProgress
from replica.raft.leader.parked import ParkedFetch, ParkedFetches


class LeaderWork:
    """All of it is empty in every other role.

    parked: the fetches that wait for records or a newer high watermark.
    observers: how far the logs of the observers are.
    accumulator: the records of the state machine that wait for the linger.
    """

    def __init__(self, config: Config) -> None:
        self.parked = ParkedFetches()
        self.observers = ObserverProgress()
        self.accumulator = BatchAccumulator(
            config.append_linger_ms, config.max_batch_bytes, config.max_pending_batches
        )

    def drop(self) -> list[ParkedFetch]:
        """Forget everything, as this replica leads no more. Returns the fetches that waited, which
        are still to be answered."""
        self.accumulator.drain()
        self.observers.clear()
        return self.parked.take_all()
