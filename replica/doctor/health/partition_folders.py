"""Judges brokers' log directories by the metadata: which folders the broker would rename to -stray
when it starts, and which replicas have no folder. Kafka's rules are in LogManager.loadLog and
LogManager.isStrayReplica. They compare the topic id and the assignment. Kafka uses the topic's name
only to make a folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from replica.doctor.check.catalogue import partition_folders as rules
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.format.partition_folders import BrokerLogDirectory, FolderState, PartitionFolder
from replica.metadata.image.partition import Partition
from replica.model.keys import ZERO_UUID
from replica.words import counted, size_text

_LOADED = (FolderState.CURRENT, FolderState.FUTURE)


class _Placed(NamedTuple):
    """A partition's folder in its log directory. why_stray: why its broker would rename it to
    -stray; "" if it wouldn't."""

    broker_id: int
    directory_id: str
    folder: PartitionFolder
    why_stray: str

    @property
    def is_stray(self) -> bool:
        return bool(self.why_stray)


def judge_log_directories(
    cluster: Cluster, directories: Iterable[BrokerLogDirectory], *, all_given: bool
) -> Iterator[Finding]:
    """The findings about log directories of the cluster. directories: log directories; directories
    of other nodes than brokers are ignored. all_given: whether missing folders count, because all
    directories of their brokers were given."""
    mine = [one for one in directories if one.replica.cluster_id == cluster.cluster_id]
    placed = [
        _Placed(
            one.replica.node_id, one.replica.directory_id, folder, _why_stray(cluster, one, folder)
        )
        for one in mine
        for folder in one.folders
        if folder.state in _LOADED
    ]
    yield from _foreign(cluster, mine)
    yield from _twice(cluster, placed)
    yield from _stray(cluster, placed)
    if all_given:
        yield from _missing(cluster, mine, placed)
    yield from _elsewhere(cluster, placed)


def _why_stray(cluster: Cluster, directory: BrokerLogDirectory, folder: PartitionFolder) -> str:
    if folder.topic_id is None:
        return "no topic id"
    partition = cluster.partitions.get((folder.topic_id, folder.partition))
    if partition is None:
        topics = cluster.values("topics")
        if folder.topic_id in topics:
            return f"topic {topics[folder.topic_id]} has no partition {folder.partition}"
        other = next((key for key, name in topics.items() if name == folder.topic), None)
        now = "no such topic" if other is None else f"the topic of that name has id {other}"
        return f"topic id {folder.topic_id}: {now}"
    if directory.replica.node_id not in partition.replicas:
        return f"the replicas are on brokers {', '.join(map(str, partition.replicas))}"
    return ""


def _foreign(cluster: Cluster, directories: Iterable[BrokerLogDirectory]) -> Iterator[Finding]:
    found = [
        Subject(f"broker {one.replica.node_id}", path)
        for one in directories
        if one.folders or cluster.values("brokers").get(one.replica.node_id)
        for path in one.foreign
    ]
    yield from cluster.about(rules.FOREIGN_FOLDER, counted(len(found), "folder"), found)


def _twice(cluster: Cluster, placed: Iterable[_Placed]) -> Iterator[Finding]:
    """Findings about partitions of which a broker has two folders in the same state, and will
    rename neither of them to -stray."""
    holders: dict[tuple[int, str, int, FolderState], list[_Placed]] = defaultdict(list)
    for one in placed:
        if not one.is_stray:
            folder = one.folder
            key = one.broker_id, folder.topic, folder.partition, folder.state
            holders[key].append(one)
    found = [
        Subject(f"{topic}-{number}", " and ".join(one.folder.path for one in same))
        for (_, topic, number, _), same in sorted(holders.items())
        if len(same) > 1
    ]
    yield from cluster.about(rules.PARTITION_TWICE, counted(len(found), "partition"), found)


def _stray(cluster: Cluster, placed: Iterable[_Placed]) -> Iterator[Finding]:
    stray = [one for one in placed if one.is_stray]
    for rule, some in (
        (rules.STRAY_PARTITION, [one for one in stray if one.folder.topic_id is not None]),
        (rules.FOLDER_WITHOUT_TOPIC_ID, [one for one in stray if one.folder.topic_id is None]),
    ):
        yield from cluster.about(rule, _summed(some), [*map(_subject, some)])


def _summed(placed: list[_Placed]) -> str:
    """A text such as `12 folders, 3.4 GiB: 8 on broker 1, 4 on broker 2`."""
    brokers = Counter(one.broker_id for one in placed)
    size = size_text(sum(one.folder.size_bytes for one in placed))
    return f"{counted(len(placed), 'folder')}, {size}: {_by_broker(brokers)}"


def _subject(one: _Placed) -> Subject:
    what = f"{one.folder.path}, {size_text(one.folder.size_bytes)}: {one.why_stray}"
    return Subject(f"broker {one.broker_id}", what)


def _missing(
    cluster: Cluster, directories: list[BrokerLogDirectory], placed: Iterable[_Placed]
) -> Iterator[Finding]:
    """Findings about replicas that the metadata places in a given directory, and for which no
    directory of the broker has a folder."""
    given: Mapping[int, set[str]] = defaultdict(set)
    for directory in (one for one in directories if not one.is_metadata_alone):
        given[directory.replica.node_id].add(directory.replica.directory_id)
    held = {
        (one.broker_id, one.folder.topic_id, one.folder.partition)
        for one in placed
        if not one.is_stray
    }
    offsets = cluster.offsets("partitions")
    found, brokers, lost = [], Counter[int](), 0
    for key, partition in sorted(cluster.partitions.items(), key=lambda one: one[0]):
        for broker_id in partition.replicas:
            is_here = broker_id in given and _lies_in(partition, broker_id, given[broker_id])
            if is_here and (broker_id, *key) not in held:
                alone = _alone(partition, broker_id)
                brokers[broker_id] += 1
                lost += bool(alone)
                what = f"on broker {broker_id}{alone}"
                found.append(Subject(cluster.name_of(key), what, offsets[key]))
    message = f"{counted(len(found), 'replica')}: {_by_broker(brokers)}"
    if lost:
        message += (
            f"; for {lost} of them no other replica has the records: the broker would lead with an "
            "empty log"
        )
    yield from cluster.about(rules.REPLICA_WITHOUT_FOLDER, message, found)


def _alone(partition: Partition, broker_id: int) -> str:
    """A clause that says that no other broker may lead this partition, so that Kafka lets this
    replica lead though its log is gone; "" if the replica fetches from another one."""
    alone = (broker_id,)
    if partition.isr == alone:
        return ", the only in-sync replica"
    if not partition.isr and eligible_to_lead(partition) == alone:
        return ", the only replica that may lead"
    return ""


def _by_broker(brokers: Mapping[int, int]) -> str:
    return ", ".join(f"{count} on broker {broker}" for broker, count in sorted(brokers.items()))


def _lies_in(partition: Partition, broker_id: int, directories: set[str]) -> bool:
    """Whether the metadata places the replica in one of these directories, or doesn't name its
    directory."""
    directory = partition.directories[partition.replicas.index(broker_id)]
    return directory in directories or directory == ZERO_UUID


def _elsewhere(cluster: Cluster, placed: Iterable[_Placed]) -> Iterator[Finding]:
    found = []
    for one in placed:
        folder = one.folder
        if one.is_stray or folder.topic_id is None or folder.state is FolderState.FUTURE:
            continue
        partition = cluster.partitions[folder.topic_id, folder.partition]
        if not _lies_in(partition, one.broker_id, {one.directory_id}):
            named = partition.directories[partition.replicas.index(one.broker_id)]
            what = f"on broker {one.broker_id} in {folder.path}, the metadata says {named}"
            found.append(Subject(f"{folder.topic}-{folder.partition}", what))
    yield from cluster.about(rules.REPLICA_ELSEWHERE, counted(len(found), "replica"), found)
