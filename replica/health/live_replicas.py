"""A partition's replicas on live brokers, and those that are left when brokers fail or stop."""

from __future__ import annotations

from typing import NamedTuple

from replica.metadata.image.partition import Partition


class LiveReplicas(NamedTuple):
    """Ids of live brokers. in_sync: those in the ISR. eligible: those in the ELR (KIP-966).
    replicas: those with a replica. min_isr: min.insync.replicas, None where it isn't known."""

    in_sync: frozenset[int]
    eligible: frozenset[int]
    replicas: frozenset[int]
    min_isr: int | None

    def without(self, gone: frozenset[int]) -> LiveReplicas:
        """The replicas that are left without these brokers."""
        return LiveReplicas(
            self.in_sync - gone, self.eligible - gone, self.replicas - gone, self.min_isr
        )

    @property
    def may_be_led(self) -> bool:
        """Whether a replica may lead without an unclean election."""
        return bool(self.in_sync or self.eligible)

    @property
    def unclean(self) -> frozenset[int]:
        """The replicas that only an unclean election can make leaders."""
        return self.replicas - self.in_sync - self.eligible

    @property
    def is_below_min_isr(self) -> bool:
        """Whether there are fewer in-sync replicas than min.insync.replicas; False where that isn't
        known."""
        return self.min_isr is not None and len(self.in_sync) < self.min_isr


class Alike(NamedTuple):
    """The facts of a partition that decide its exposure. Equal partitions are counted together."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    replicas: tuple[int, ...]
    min_isr: int | None

    @staticmethod
    def of(partition: Partition, min_isr: int | None) -> Alike:
        return Alike(partition.isr, partition.elr, partition.replicas, min_isr)

    def kind(self, live: frozenset[int]) -> LiveReplicas:
        """The partition's live replicas, if these brokers are live."""
        return LiveReplicas(
            live.intersection(self.isr),
            live.intersection(self.elr),
            live.intersection(self.replicas),
            self.min_isr,
        )
