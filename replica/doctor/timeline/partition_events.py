"""Finds elections of partitions by which records may have been lost, in the changes of a log.

In an unclean election, a replica that isn't in sync becomes the leader, and the partition is marked
as recovering (KIP-704). A new leader may also be empty: its broker has lost the replica's log
directory, for example because the disk was replaced, and keeps the replica in another directory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from replica.doctor.timeline.branch import BranchTail
from replica.doctor.timeline.changes import LoggedChange
from replica.metadata.image.partition import Partition, offline_directory
from replica.words import listed, named

UNCLEAN, NEW_DIRECTORY = "unclean_election", "leader_in_new_directory"
_RECOVERING = 1
_SHOWN = 3
"""The number of partitions that an event names."""
_Key = tuple[str, int]
"""The topic id and the number of a partition."""
_OF_BROKERS = ("broker_registered", "broker_directories_changed")


class PartitionEvent(NamedTuple):
    """What happened to partitions by records of one time and epoch."""

    event: str
    """The kind of event, UNCLEAN or NEW_DIRECTORY."""
    at: int
    """The time of the event, in ms since 1970 (UTC)."""
    offset: int
    """The offset of the first record."""
    leader_epoch: int
    commitment: str
    tail: BranchTail | None
    """The tail that holds the records; None for records of the branch."""
    leaders: frozenset[int]
    """The ids of the new leaders."""
    partitions: tuple[str, ...]
    """The names of the partitions, in the order of the records."""
    are_only_replicas: bool = False
    """Whether each leader is the only replica of its partition, so that no other one lacks a
    record."""
    may_be_empty: bool = False
    """Whether the leaders' brokers lost the log directories that held the partitions, and began
    again in other directories."""

    @property
    def name(self) -> str:
        """The new leaders, as people read them."""
        return named("broker", [str(one) for one in sorted(self.leaders)])

    @property
    def detail(self) -> str:
        """What happened, and which records may be lost."""
        what, rest = "elected uncleanly", "any record that the new leaders lacked is lost"
        if self.are_only_replicas:
            rest = "each has no other replica, so any record that its broker hadn't written is lost"
        if self.may_be_empty:
            rest = (
                "the log directories that held them are gone, so the new leaders may have begun "
                f"empty{', and no other replica exists' * self.are_only_replicas}: keep the old "
                "disks, which may hold the records"
            )
        if self.event == NEW_DIRECTORY:
            what = "leads from another log directory than before, which is gone"
            rest = "its replicas may have begun empty"
        return f"{what}: {listed(self.partitions, limit=_SHOWN)}; {rest}"


@dataclass
class PartitionEvents:
    """Takes the changes of a log one by one, and finds the events."""

    _found: dict[tuple[object, ...], PartitionEvent] = field(default_factory=dict)
    """The events by (event, time, leader epoch, tail, are_only_replicas, may_be_empty)."""
    _directories: dict[int, frozenset[str]] = field(default_factory=dict)
    """The online directories of each broker."""
    _began_again: set[tuple[_Key, int]] = field(default_factory=set)
    """The replicas (partition, broker) whose former directory is gone, so that they began again in
    another one, and which have not been in sync with a leader since."""

    def take(self, change: LoggedChange) -> None:
        """Take the next change."""
        what, write = change.named.change.change, change.named.write
        if what in _OF_BROKERS and change.named.change.new is not None:
            value = json.loads(change.named.change.new)
            directories = value["logDirs"] if isinstance(value, dict) else value
            self._directories[write.key] = frozenset(directories or ())
        elif what == "leader_recovery_state_changed":
            if write.new.leader_recovery_state == _RECOVERING:
                self._add(UNCLEAN, change, write.new)
        elif what == "directories_changed":
            self._take_directories(change, write.key, write.old, write.new)
        elif what == "isr_changed":
            self._began_again -= {
                (write.key, one) for one in write.new.isr if one != write.new.leader
            }

    def events(self) -> Iterator[PartitionEvent]:
        """The events, in the order of their first records."""
        return iter(self._found.values())

    def _take_directories(
        self, change: LoggedChange, key: _Key, old: Partition, new: Partition
    ) -> None:
        lost = [one for one in new.replicas if self._lost_directory(one, old, new)]
        self._began_again |= {(key, one) for one in lost}
        if new.leader in lost and old.isr in ((), (new.leader,)):
            self._add(NEW_DIRECTORY, change, new)

    def _lost_directory(self, broker: int, old: Partition, new: Partition) -> bool:
        """Whether the broker has lost the replica's former directory, and keeps the replica in
        another directory. A replica that moves between two directories of its broker loses nothing.
        """
        lost = offline_directory(old, broker, self._directories.get(broker))
        return lost is not None and lost != new.directories[new.replicas.index(broker)]

    def _add(self, event: str, change: LoggedChange, now: Partition) -> None:
        leader, is_only = now.leader, now.replicas == (now.leader,)
        is_empty = event == UNCLEAN and (change.named.write.key, leader) in self._began_again
        key = event, change.at, change.leader_epoch, change.tail, is_only, is_empty
        known = self._found.get(key)
        name = change.named.name
        if known is None:
            place = (
                change.at, change.offset, change.leader_epoch, change.commitment, change.tail
            )  # fmt: skip
            self._found[key] = PartitionEvent(
                event, *place, frozenset({leader}), (name,), is_only, is_empty
            )
        elif name not in known.partitions[-1:]:
            partitions = (*known.partitions, name)
            self._found[key] = known._replace(
                leaders=known.leaders | {leader}, partitions=partitions
            )
