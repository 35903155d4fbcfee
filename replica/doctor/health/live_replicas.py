"""The live replicas of a partition, and the facts about a partition that decide which of its
replicas may lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from replica.metadata.image.partition import Partition, offline_directory
from replica.model.keys import NO_NODE


class LiveReplicas(NamedTuple):
    """Ids of live brokers whose replica lies in a log directory that is online."""

    in_sync: frozenset[int]
    """The brokers whose replica is in the ISR."""
    eligible: frozenset[int]
    """The brokers whose replica is in the ELR (KIP-966)."""
    replicas: frozenset[int]
    """The brokers that have a replica."""
    min_isr: int | None
    """min.insync.replicas; None if unknown."""
    assigned: int = 0
    """The number of all replicas, live or not."""
    awaited: frozenset[int] = frozenset()
    """The replicas that aren't live, and may lead without an unclean election once they are back.
    """
    only: frozenset[int] | None = None
    """None if another replica may become the leader. Else the present leader alone, or empty
    without a live one: the quorum has no leader that could choose another one, or no broker has
    come up since a replica could lead."""
    leader: frozenset[int] | None = None
    """The present leader, if a failure of brokers can take the quorum's majority; else None."""

    def without(self, gone: frozenset[int]) -> LiveReplicas:
        """The replicas that are left without these brokers."""
        return LiveReplicas(
            self.in_sync - gone,
            self.eligible - gone,
            self.replicas - gone,
            self.min_isr,
            self.assigned,
            self.awaited - gone,
            None if self.only is None else self.only - gone,
            None if self.leader is None else self.leader - gone,
        )

    @property
    def unled(self) -> LiveReplicas:
        """The same replicas after the quorum has lost its leader. Then only the present leader of
        the partition may lead it."""
        return self._replace(only=self.leader, leader=None)

    @property
    def may_be_led(self) -> bool:
        """Whether a replica may lead without an unclean election."""
        return bool(self.in_sync or self.eligible) if self.only is None else bool(self.only)

    @property
    def unclean(self) -> frozenset[int]:
        """The replicas that only an unclean election can make leaders. There are none if the
        partition waits for another replica, or for a leader of the quorum."""
        if self.awaited or self.only is not None:
            return frozenset()
        return self.replicas - self.in_sync - self.eligible

    @property
    def is_below_min_isr(self) -> bool:
        """Whether there are fewer in-sync replicas than min.insync.replicas; False if it is
        unknown."""
        return self.min_isr is not None and len(self.in_sync) < self.min_isr

    @property
    def may_be_below_min_isr(self) -> bool:
        """Whether the partitions may have fewer in-sync replicas than min.insync.replicas: replicas
        aren't in sync, and min.insync.replicas is unknown."""
        return self.min_isr is None and len(self.in_sync) < self.assigned


class Alike(NamedTuple):
    """The facts of a partition that decide its exposure. Equal partitions are counted together."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    replicas: tuple[int, ...]
    min_isr: int | None
    lost: frozenset[int] = frozenset()
    """The replicas whose log directory is offline: they may not lead, whether their broker is live
    or not."""
    may_lead: tuple[int, ...] = ()
    """The replicas that may lead without an unclean election, as in `eligible_to_lead`."""
    only: int | None = None
    """The present leader, if the quorum has no leader that could choose another one; else None."""
    leader: int | None = None
    """The present leader, if the quorum has a leader and some nodes are both voter and broker; else
    None."""
    has_leader: bool = True
    """Whether the partition has a leader. If not, a live replica that may lead does so only after
    the next election, which comes with the next broker that is unfenced."""

    @staticmethod
    def of(
        partition: Partition,
        min_isr: int | None,
        online: Mapping[int, frozenset[str]],
        *,
        is_led: bool = True,
        is_combined: bool = False,
        emptied: int = NO_NODE,
    ) -> Alike:
        """The facts of a partition. online: as in Cluster.online_directories. is_led: whether the
        quorum has a leader. is_combined: whether some nodes are both voter and broker. emptied: the
        broker of emptied_partitions, which should not become the leader; NO_NODE without one."""
        has_leader = partition.leader != NO_NODE
        kept = {emptied} if not has_leader else frozenset[int]()
        lost = frozenset(
            one
            for one in partition.replicas
            if offline_directory(partition, one, online.get(one)) is not None
        )
        return Alike(
            tuple(one for one in partition.isr if one not in kept),
            tuple(one for one in partition.elr if one not in kept),
            partition.replicas,
            min_isr,
            lost,
            tuple(one for one in eligible_to_lead(partition) if one not in kept),
            None if is_led else partition.leader,
            partition.leader if is_led and is_combined else None,
            has_leader,
        )

    def kind(self, live: frozenset[int]) -> LiveReplicas:
        """The partition's live replicas, if these brokers are live."""
        usable = live - self.lost if self.lost else live
        may_now = usable.intersection((*self.isr, *self.elr))
        only = None if self.only is None else usable.intersection((self.only,))
        if not self.has_leader and may_now:
            only = frozenset()
        return LiveReplicas(
            usable.intersection(self.isr),
            usable.intersection(self.elr),
            usable.intersection(self.replicas),
            self.min_isr,
            len(self.replicas),
            frozenset(self.may_lead) - may_now,
            only,
            None if self.leader is None else usable.intersection((self.leader,)),
        )


def that_truncate(partition: Partition) -> frozenset[int]:
    """The replicas that truncate their logs to that of a leader from the ISR or the ELR: all that
    may not lead themselves without an unclean election."""
    return frozenset(partition.replicas).difference(partition.isr, eligible_to_lead(partition))


def eligible_to_lead(partition: Partition) -> tuple[int, ...]:
    """The replicas that may lead without an unclean election, live or not. Kafka takes the last
    known leader if no other replica is left (KIP-966)."""
    return (*partition.isr, *partition.elr) or partition.last_known_elr
