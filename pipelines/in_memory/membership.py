"""Findings about the ids that the members of a round claim: replica.check.membership on the
tables.

The captures of a round were taken together. So the rules see the same members as one call of
`kraftlake check`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.finding_rows import finding_row
from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.control import SnapshotKey
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.held import HeldBatches
from pipelines.in_memory.judgements import without_repetitions
from pipelines.in_memory.rows import Row, nulls_first
from pipelines.tables.keys import replica_of
from replica.check.membership import GroupMember, judge_membership
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.snapshot import SnapshotName
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys

_ENTRY = ("base_offset", "last_offset", "leader_epoch", "crc", "size_bytes")
_NO_STATE: Row = dict.fromkeys(("leader_id", "leader_epoch", "current_voters"))


class RoundMember(NamedTuple):
    """A capture in a round. member: the facts that the rules need, without the batches. held: a row
    for each batch of its log, with the columns of _ENTRY."""

    ingest_seq: int
    capture_id: str
    member: GroupMember
    held: npt.NDArray[np.int64]


def with_neighbours(captures: Iterable[Row]) -> set[str]:
    """The clusters that were captured in one round with another cluster. Their first records are
    compared."""
    rounds: defaultdict[int, set[str]] = defaultdict(set)
    for row in captures:
        rounds[row["ingest_seq"]].add(row["cluster_id"])
    return {cluster_id for ids in rounds.values() if len(ids) > 1 for cluster_id in ids}


def members_of(
    bronze: BronzeRows, snapshot_sets: Mapping[SnapshotKey, Sequence[Row]], *, compared: bool
) -> Iterator[RoundMember]:
    """A member for each capture of a cluster. Of bronze, captures, states and batches are read.

    snapshot_sets: from snapshot_voter_sets. compared: whether another cluster was in its rounds.
    """
    held = HeldBatches(bronze, {})
    state = {row["capture_id"]: row for row in bronze.state}
    initial = _initial_voters(snapshot_sets)
    for row in bronze.captures:
        capture_id = row["capture_id"]
        source = held.looks[capture_id]["source"]
        voters = initial.get(replica_of(row), frozenset())
        member = _member(row, source, state.get(capture_id, _NO_STATE), voters)
        places = held.places(capture_id) if compared else np.zeros(0, np.int64)
        columns = [getattr(held.batches, name)[places] for name in _ENTRY]
        yield RoundMember(row["ingest_seq"], capture_id, member, np.stack(columns, axis=1))


def _initial_voters(
    snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
) -> dict[ReplicaId, VoterKeys]:
    """The voters in the bootstrap snapshot of each replica."""
    named: defaultdict[ReplicaId, list[list[Row]]] = defaultdict(list)
    for (cluster_id, node_id, directory_id, end_offset, *_), sets in snapshot_sets.items():
        voters = [found["voters"] for found in sets]
        if end_offset == BOOTSTRAP_SNAPSHOT.offset and None not in voters:
            replica = ReplicaId(cluster_id, node_id, directory_id)
            named[replica].append([voter for one in voters for voter in one])
    return {
        replica: frozenset(
            ReplicaKey(voter["voter_id"], voter["directory_id"])
            for voter in max(sets, key=nulls_first)
        )
        for replica, sets in named.items()
    }


def _member(capture: Row, source: str, state: Row, initial_voters: VoterKeys) -> GroupMember:
    paths = [file["path"] for file in capture["files"]]
    names = [(path, classify(os.path.basename(path))) for path in paths]
    folders = (path.partition("/")[0] for path in paths if "/" in path)
    directory = DirectoryPath(next(folders, METADATA_FOLDER), source)

    def shown(found: Iterable[str]) -> str:
        """The file as ingest was told it; the directory where the capture has no such file."""
        path = next(iter(found), None)
        return source if path is None else directory.shown_file(path)

    bootstrap = [path for path, name in names if name.snapshot == SnapshotName(BOOTSTRAP_SNAPSHOT)]
    return GroupMember(
        replica_of(capture),
        source,
        shown(path for path, name in names if name.kind is FileKind.META_PROPERTIES),
        shown(path for path, name in names if name.kind is FileKind.QUORUM_STATE),
        shown(bootstrap),
        leader_id=state["leader_id"],
        leader_epoch=state["leader_epoch"],
        current_voters=tuple(state["current_voters"] or ()),
        initial_voters=initial_voters if bootstrap else frozenset(),
    )


def findings_of_rounds(clusters: Iterable[Silver], neighbours: Collection[str]) -> list[Row]:
    """The findings of all rounds, as rows of gold.findings. clusters: all clusters in the rounds,
    whose captures, states, batches and control records in snapshots are read. neighbours: from
    with_neighbours."""
    return without_repetitions(
        membership_findings(
            member
            for one in clusters
            for member in members_of(
                one.bronze, one.snapshot_sets, compared=one.cluster_id in neighbours
            )
        )
    )


def membership_findings(members: Iterable[RoundMember]) -> Iterator[Row]:
    """The findings of all rounds, as rows of gold.findings without family and subjects. members:
    those of all clusters in the rounds."""
    for together in grouped(members, attrgetter("ingest_seq")).values():
        group = _with_entries(together)
        captures = {member: one.capture_id for member, one in zip(group, together, strict=True)}
        for member, found in judge_membership(group):
            capture_id = captures[member]
            yield {**asdict(member.replica), "capture_id": capture_id, **finding_row(found)}


def _with_entries(together: Sequence[RoundMember]) -> list[GroupMember]:
    """The members of a round. Where the round has several clusters, each member gets its first
    offset, and its batches that hold the first offset of any log of the round."""
    if len({one.member.replica.cluster_id for one in together}) < 2:
        return [one.member for one in together]
    firsts = [int(one.held[:, 0].min()) if len(one.held) else None for one in together]
    offsets = sorted({first for first in firsts if first is not None})
    return [
        replace(
            one.member,
            first_offset=first,
            entries={at: batch for at in offsets for batch in _holding(one.held, at)},
        )
        for one, first in zip(together, firsts, strict=True)
    ]


def _holding(held: npt.NDArray[np.int64], offset: int) -> Iterator[LogBatch]:
    """The batches that hold an offset."""
    holds = (held[:, 0] <= offset) & (offset <= held[:, 1])
    for base, last, epoch, *digest in held[holds].tolist():
        yield LogBatch(base, last, epoch, tuple(digest))
