"""The quorum in some directories, in the form that a rehearsal needs: the bytes of all nodes, and
the facts that the directories lack."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.cli.directories.judged_clusters import disks_of_several
from jobs.cli.output import ProgressLine
from replica.doctor.check.examined import (
    Examined,
    by_cluster,
    newest_voters,
)
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.known_quorum import (
    EarlierRounds,
    quorum_files,
    went_back_since,
)
from replica.doctor.check.membership import mixture_in
from replica.doctor.check.newest import newest_states
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.histories import histories_text
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.reasons import winners_that_lose
from replica.doctor.quorum.recovery import RecoveryPlan, plan_compared
from replica.doctor.quorum.went_back import ComparedRound
from replica.doctor.rehearsal.captured import CapturedNode, CapturedQuorum
from replica.errors import UsageError
from replica.format import meta_properties
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.formatted import FormattedDirectory
from replica.format.reading import MAX_LOG_BYTES, read_own_file
from replica.format.snapshot import BOOTSTRAP_NAME
from replica.history.commitment import compare_group
from replica.history.log import ReplicaLog
from replica.model.epochs import election_order
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, VoterSet, voter_set
from replica.simulate.node_files import Files
from replica.words import up_to

MAX_BYTES = 4 * 1024**3
"""The most bytes of all directories together. Each run holds them in memory twice."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A quorum that was read from directories, and the values that its rehearsal needs."""

    captured: CapturedQuorum
    plan: RecoveryPlan
    """The plan of `recover` for the quorum."""
    by_key: Mapping[ReplicaKey, Examined]
    """The directories by their replica."""
    doubts: tuple[str, ...]
    """Sentences, each about a fact that the directories lack."""
    refusals: tuple[str, ...] = ()
    """Sentences, each with a reason to start no node."""

    @property
    def refusal(self) -> str:
        """The first of the refusals; "" where there is none."""
        return "".join(self.refusals[:1])


def rehearsed_quorum(
    found: Sequence[Examined],
    earlier: EarlierRounds | None = None,
    formatted: Iterable[FormattedDirectory] = (),
) -> Rehearsed:
    """The only cluster of these directories, without the directories in not_of_metadata. earlier:
    earlier captures of the same replicas. formatted: log directories without a metadata log.

    Raises UsageError where there are several clusters, two disks of one node, no known voters, or
    more than MAX_BYTES.
    """
    members = _one_cluster([one for one in found if partition_of(one).is_metadata])
    by_node = _by_node(members)
    logs = {node_id: replica_log(one, "") for node_id, one in by_node.items()}
    now = ComparedRound.of(compare_group(list(logs.values())))
    back = went_back_since(earlier or {}, members[0].owner.cluster_id, now)
    files = quorum_files([(one, logs[node_id]) for node_id, one in by_node.items()], back)
    plan = plan_compared(now, files)
    mixture = mixture_in(members, formatted)
    quorum = mixture.doubted(plan.quorum, members[0].owner.cluster_id)
    voters, is_static = _voters(members, logs)
    nodes = {
        node_id: CapturedNode(logs[node_id].key, files, logs[node_id])
        for node_id, files in _loaded(by_node)
    }
    newest = max(
        (
            batch.header.max_timestamp
            for one in members
            for segment in one.directory.segments
            for batch in segment.scan.batches
        ),
        default=0,
    )
    captured = CapturedQuorum(
        members[0].owner.cluster_id,
        nodes,
        voters,
        is_static,
        plan.commitment,
        now.commitment,
        max(newest, 0),
        quorum,
    )
    doubts = (*_doubts(members), *winners_that_lose(plan.led_by, plan.quorum))
    by_key = {one.owner.key: one for one in members}
    return Rehearsed(captured, plan, by_key, doubts, tuple(_refusals(plan.quorum)))


def not_of_metadata(found: Sequence[Examined]) -> Iterator[str]:
    """A line for each directory of another partition than the metadata partition."""
    for one in found:
        partition = partition_of(one)
        if not partition.is_metadata:
            yield f"{one.shown}: left out: {partition.what}"


def _one_cluster(members: Sequence[Examined]) -> Sequence[Examined]:
    clusters = by_cluster(members)
    if len(clusters) != 1:
        ids = ", ".join(sorted({one.replica.cluster_id for one in members if one.replica}))
        told = f"the directories are of {len(clusters)} clusters{f' ({ids})' if ids else ''}"
        several = disks_of_several(members)
        why = f". {several}" if several else ""
        raise UsageError(f"rehearse: {told}: name the directories of one{why}")
    return clusters[0]


def _by_node(members: Sequence[Examined]) -> dict[int, Examined]:
    by_node: dict[int, Examined] = {}
    for one in members:
        other = by_node.setdefault(one.owner.node_id, one)
        if other is not one:
            raise UsageError(
                f"{other.shown} and {one.shown} are both of node {one.owner.node_id}: name the "
                "one with which the node is to start"
            )
    return by_node


def _voters(members: Sequence[Examined], logs: dict[int, ReplicaLog]) -> tuple[VoterSet, bool]:
    """(the voters in force at the end of the newest log, whether only the nodes' configuration
    names them). Raises UsageError where no file names voters."""
    ranked = sorted(
        members, key=lambda one: election_order(logs[one.owner.node_id].position()), reverse=True
    )
    newest = newest_voters(ranked)
    if newest is not None:
        return voter_set(newest.voters), False
    for one in ranked:
        if one.stated_voters:
            return voter_set(Voter(ReplicaKey(key.node_id)) for key in one.stated_voters), True
    raise UsageError(
        "rehearse: no record and no quorum-state of these directories names the voters: name the "
        "directory of a controller"
    )


def _loaded(by_node: dict[int, Examined]) -> Iterator[tuple[int, Files]]:
    total = 0
    for node_id, one in by_node.items():
        files = dict(_files(one))
        total += sum(map(len, files.values()))
        if total > MAX_BYTES:
            raise UsageError(
                f"{one.shown}: these directories have more than {MAX_BYTES} bytes together, which "
                "a rehearsal holds in memory: name those of the voters alone"
            )
        _refuse_changed(one, files)
        yield node_id, files


def _files(examined: Examined) -> Iterator[tuple[str, bytes]]:
    folder = os.path.abspath(examined.location.path)
    for name in sorted(os.listdir(folder)):
        if classify(name).kind not in (FileKind.OTHER, FileKind.META_PROPERTIES):
            data = read_own_file(os.path.join(folder, name), MAX_LOG_BYTES)
            yield f"{METADATA_FOLDER}/{name}", data
    for name in (meta_properties.FILE_NAME, BOOTSTRAP_NAME):
        for place in (os.path.dirname(folder), folder):
            path = os.path.join(place, name)
            if os.path.lexists(path):
                yield name, read_own_file(path, MAX_LOG_BYTES)
                break


def _refuse_changed(examined: Examined, files: Files) -> None:
    """Raises UsageError where a directory changes while it is read: a rehearsal begins at one
    moment."""
    sizes = {file.path: file.size_bytes for file in examined.directory.files}
    for path, size in sizes.items():
        name = path.rpartition("/")[2]
        now = files.get(f"{METADATA_FOLDER}/{name}", files.get(name))
        if now is not None and len(now) != size:
            raise UsageError(
                f"{examined.shown_file(path)}: changes while it is read: stop the node, or "
                "rehearse with a copy (`kraftlake capture`)"
            )


def _refusals(quorum: KnownQuorum) -> Iterator[str]:
    if quorum.conflicts:
        yield (
            f"{histories_text(quorum.conflicts)}, and a person has to choose one: start no "
            "node (`kraftlake check` says more)"
        )
    for each in quorum.contested:
        yield (
            f"offsets {each.start} to {each.end - 1} hold different records that are all proven "
            "committed: start no node"
        )


def _doubts(members: Sequence[Examined]) -> Iterator[str]:
    for one in members:
        if one.hides_entries:
            yield (
                f"{one.shown}: part of its log can't be read, so nobody knows what it holds: "
                "`kraftlake check` says where"
            )
        if one.breaks_off:
            yield f"{one.shown} breaks off, so nobody knows where its log ends: copy it again"
    progress = ProgressLine()
    for told in newest_states(members, progress.show):
        if told.state is None:
            yield f"{told.examined.shown}: no state could be replayed from its log"
        elif not told.state.is_whole:
            yield (
                f"{told.examined.shown}: the state is known {up_to(told.state.end.offset)} "
                "only: `kraftlake check` says what is behind"
            )
    progress.clear()
