"""The differences of two versions of a partition, as changes of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from replica.metadata.changes.catalogue import Change
from replica.metadata.image.kind import compact
from replica.metadata.image.partition import Partition

_FIELDS = {
    "replicas": "replicas_changed",
    "isr": "isr_changed",
    "elr": "elr_changed",
    "last_known_elr": "last_known_elr_changed",
    "directories": "directories_changed",
    "leader_recovery_state": "leader_recovery_state_changed",
}
_PLACES = tuple((Partition._fields.index(field), change) for field, change in _FIELDS.items())

_json = lru_cache(maxsize=1 << 14)(compact)
"""The JSON of a field, cached because many partitions have the same assignments and ISRs."""


def partition_changes(old: Partition, new: Partition) -> list[Change]:
    """The changes from `old` to `new`; an empty list only if both are equal."""
    found: list[Change] = []
    if old.leader != new.leader:
        found.append(Change("leader_changed", str(old.leader), str(new.leader)))
    elif old.leader_epoch != new.leader_epoch:
        epochs = str(old.leader_epoch), str(new.leader_epoch)
        found.append(Change("leader_epoch_changed", *epochs))
    for place, change in _PLACES:
        before, after = old[place], new[place]
        if before is not after and before != after:
            found.append(Change(change, _json(before), _json(after)))
    found += _reassignment(old, new)
    if not found and old != new:
        epochs = str(old.partition_epoch), str(new.partition_epoch)
        found.append(Change("partition_epoch_changed", *epochs))
    return found


def _reassignment(old: Partition, new: Partition) -> Iterator[Change]:
    before = old.adding_replicas, old.removing_replicas
    after = new.adding_replicas, new.removing_replicas
    if before == after:
        return
    if not any(before):
        change = "reassignment_started"
    elif any(after):
        change = "reassignment_changed"
    else:
        replicas = set(new.replicas)
        is_done = replicas.issuperset(before[0]) and replicas.isdisjoint(before[1])
        change = "reassignment_completed" if is_done else "reassignment_cancelled"
    yield Change(change, _moves(old), _moves(new))


def _moves(partition: Partition) -> str:
    return compact(
        {
            "addingReplicas": partition.adding_replicas,
            "removingReplicas": partition.removing_replicas,
        }
    )
