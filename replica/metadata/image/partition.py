"""A partition's registration, and how a change is merged into it (Kafka: PartitionRegistration).

An absent, empty or all-zero list of directories means that no directory is known. The partition
then has the zero uuid for each replica (KIP-858 calls this MIGRATING). Epochs wrap around as Java's
int does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from replica.model.keys import ZERO_UUID

LEADER_UNCHANGED = -2
"""The value of `leader` in a PARTITION_CHANGE_RECORD that keeps the leader (Kafka:
LeaderConstants.NO_LEADER_CHANGE)."""
RECOVERY_UNCHANGED = -1
RECOVERY_STATES = (0, 1)
"""The values of Kafka's LeaderRecoveryState: 0 recovered, 1 recovering."""

UNASSIGNED_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAQ"
"""Kafka's DirectoryId.UNASSIGNED: the broker has not yet named the replica's directory
(KIP-858)."""

_INT32_MAX = 2**31 - 1


def topic_of(name: str) -> str:
    """The topic of a partition with this name, such as orders-3. A topic's name may have hyphens,
    too."""
    return name.rpartition("-")[0]


class Hosts(NamedTuple):
    """The brokers of a partition. `adding` and `removing` are those of a running reassignment."""

    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


def moved(old: Hosts, new: Hosts) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(the replicas before, the replicas after), for a change from `old` to `new` that ends a
    reassignment and has moved a replica, or that changes the replicas or their order without a
    reassignment. None for any other change, such as the end of a cancelled reassignment."""
    if new.adding or new.removing:
        return None
    before = tuple(one for one in old.replicas if one not in old.adding)
    is_ending = bool(old.adding or old.removing)
    is_same = {*before} == {*new.replicas} if is_ending else before == tuple(new.replicas)
    return None if is_same else (before, tuple(new.replicas))


class Partition(NamedTuple):
    """The fields of a PARTITION_RECORD without its key, in Kafka's order."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[str, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]

    @property
    def hosts(self) -> Hosts:
        return Hosts(self.replicas, self.adding_replicas, self.removing_replicas)


def offline_directory(
    partition: Partition, broker_id: int, online: frozenset[str] | None
) -> str | None:
    """The id of the broker's log directory that has the partition's replica, if that directory
    isn't online. None if it is online, if the broker hasn't named it yet, or if the broker holds no
    replica. online: the broker's log directories that are online; None if it names none."""
    if online is None or broker_id not in partition.replicas:
        return None
    directory = partition.directories[partition.replicas.index(broker_id)]
    is_named = directory not in (ZERO_UUID, UNASSIGNED_DIRECTORY)
    return directory if is_named and directory not in online else None


class RefusedPartitionError(Exception):
    """The record can't be merged into the partition. The text gives the reason in one line. Replay
    turns this error into a Refusal."""


def registered(fields: Mapping[str, Any]) -> Partition:
    """The partition that a PARTITION_RECORD of any version creates or replaces. Raises
    RefusedPartitionError for an unknown leaderRecoveryState, and if there aren't as many
    directories as replicas."""
    replicas, directories = fields["replicas"], fields.get("directories")
    if directories and len(directories) != len(replicas):
        raise RefusedPartitionError(_wrong_length(directories, replicas))
    return Partition(
        replicas,
        fields["isr"],
        fields["removingReplicas"],
        fields["addingReplicas"],
        fields["leader"],
        _recovery_state(fields["leaderRecoveryState"]),
        fields["leaderEpoch"],
        fields["partitionEpoch"],
        _directories(directories, replicas),
        fields.get("eligibleLeaderReplicas") or (),
        fields.get("lastKnownElr") or (),
    )


def merged(old: Partition, fields: Mapping[str, Any]) -> Partition:
    """The partition after a PARTITION_CHANGE_RECORD. A null list changes nothing, and an empty list
    empties the partition's list. Every value of `leader` except LEADER_UNCHANGED begins a new
    leader epoch, even if the leader stays the same. Raises RefusedPartitionError as `registered`
    does."""
    change = fields.get
    replicas = _changed(fields["replicas"], old.replicas)
    leader, leader_epoch = fields["leader"], old.leader_epoch
    if leader == LEADER_UNCHANGED:
        leader = old.leader
    else:
        leader_epoch = _next(leader_epoch)
    recovery = fields["leaderRecoveryState"]
    return Partition(
        replicas,
        _changed(fields["isr"], old.isr),
        _changed(fields["removingReplicas"], old.removing_replicas),
        _changed(fields["addingReplicas"], old.adding_replicas),
        leader,
        old.leader_recovery_state if recovery == RECOVERY_UNCHANGED else _recovery_state(recovery),
        leader_epoch,
        _next(old.partition_epoch),
        _merged_directories(old, fields, replicas),
        _changed(change("eligibleLeaderReplicas"), old.elr),
        _changed(change("lastKnownElr"), old.last_known_elr),
    )


def without_elr(old: Partition) -> Partition:
    """The partition after a CLEAR_ELR_RECORD (KIP-966); `old` itself if it has no ELR."""
    if not old.elr and not old.last_known_elr:
        return old
    epoch = _next(old.partition_epoch)
    return old._replace(partition_epoch=epoch, elr=(), last_known_elr=())


_FIELD_NAMES = (
    "replicas", "isr", "removingReplicas", "addingReplicas", "leader", "leaderRecoveryState",
    "leaderEpoch", "partitionEpoch", "directories", "eligibleLeaderReplicas", "lastKnownElr",
)  # fmt: skip
"""Kafka's names of Partition's fields, in the same order."""


def fields_of(key: tuple[str, int], partition: Partition) -> dict[str, Any]:
    """The fields of the partition's PARTITION_RECORD at the newest version."""
    named = zip(_FIELD_NAMES, partition, strict=True)
    return {"partitionId": key[1], "topicId": key[0], **dict(named)}


def text_of(key: tuple[str, int], partition: Partition) -> str:
    """The result of `compact` for fields_of, made faster: most entities that change are
    partitions."""
    replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch = partition[:8]
    return (
        f'{{"addingReplicas":{_ints(adding)},"directories":{_texts(partition.directories)},'
        f'"eligibleLeaderReplicas":{_ints(partition.elr)},"isr":{_ints(isr)},'
        f'"lastKnownElr":{_ints(partition.last_known_elr)},"leader":{leader},'
        f'"leaderEpoch":{leader_epoch},"leaderRecoveryState":{recovery},'
        f'"partitionEpoch":{epoch},"partitionId":{key[1]},"removingReplicas":{_ints(removing)},'
        f'"replicas":{_ints(replicas)},"topicId":"{key[0]}"}}'
    )


@lru_cache(maxsize=1 << 15)
def _ints(numbers: tuple[int, ...]) -> str:
    # cached, because many partitions share an assignment, an ISR or a directory
    return f"[{','.join(map(str, numbers))}]"


@lru_cache(maxsize=1 << 15)
def _texts(ids: tuple[str, ...]) -> str:
    """A JSON list of ids, which need no escapes."""
    return "[" + ",".join(f'"{one}"' for one in ids) + "]"


def _changed(new: tuple[int, ...] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else new


def _next(epoch: int) -> int:
    return epoch + 1 if epoch != _INT32_MAX else -_INT32_MAX - 1


def _recovery_state(value: int) -> int:
    if value not in RECOVERY_STATES:
        raise RefusedPartitionError(f"there is no leader recovery state {value}")
    return value


def _directories(directories: tuple[str, ...] | None, replicas: tuple[int, ...]) -> tuple[str, ...]:
    if not directories or directories.count(ZERO_UUID) == len(directories):
        return (ZERO_UUID,) * len(replicas)
    if len(directories) != len(replicas):
        raise RefusedPartitionError(_wrong_length(directories, replicas))
    return directories


def _merged_directories(
    old: Partition, fields: Mapping[str, Any], replicas: tuple[int, ...]
) -> tuple[str, ...]:
    new = fields.get("directories")
    if new is None:
        unmoved = replicas is old.replicas
        return old.directories if unmoved else _directories(old.directories, replicas)
    # a list of zero uuids may have the wrong length, unless the record also changes the replicas
    if fields["replicas"] is not None and new and len(new) != len(replicas):
        raise RefusedPartitionError(_wrong_length(new, replicas))
    return _directories(new, replicas)


def _wrong_length(directories: tuple[str, ...], replicas: tuple[int, ...]) -> str:
    return f"{len(directories)} directories for {len(replicas)} replicas"
