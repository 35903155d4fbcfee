"""Findings about the ids that the members of a round claim: replica.doctor.check.membership applied
to rows of tables.

The captures of a round were taken together. So the rules see the same members as one call of
`kraftlake check`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.control import SnapshotKey
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row, nulls_first
from pipelines.finding_rows import finding_row, subjects_text
from pipelines.gold.findings import without_repetitions
from pipelines.gold.inputs import Silver
from pipelines.gold.other_disks import RoundDirectories
from pipelines.gold.voter_beliefs import stated_voters
from pipelines.tables.keys import covers, replica_of
from replica.doctor.check.first_election import (
    FormattedNode,
    Formatting,
    judge_first_election,
)
from replica.doctor.check.group_member import GroupMember
from replica.doctor.check.membership import judge_membership
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER, FileKind, FileName, classify
from replica.format.snapshot import SnapshotName
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys

_NO_STATE: Row = dict.fromkeys(("leader_id", "leader_epoch", "current_voters"))


class RoundMember(NamedTuple):
    """A capture of a replica in an ingest round, with the facts by which the rules compare it with
    the other captures of the round."""

    ingest_seq: int
    capture_id: str
    captured_at: datetime
    member: GroupMember
    """The facts that the rules need, without first_offset and entries."""
    first_offset: int | None
    """The first offset in the replica's log; None where the log is empty."""


def formatted_findings(rounds: Iterable[RoundDirectories]) -> Iterator[Row]:
    """The findings about log directories without a metadata log, made by comparing them with the
    other directories of their rounds. They are rows of gold.findings."""
    for together in rounds:
        for of, finding in together.findings():
            about = {**asdict(of.directory.replica), "capture_id": of.capture_id}
            yield about | finding_row(finding)


def members_of(silver: Silver, rounds: Collection[int]) -> Iterator[RoundMember]:
    """A member for each capture of a cluster that is in one of the rounds."""
    held, initial = silver.held, _initial_voters(silver.snapshot_sets)
    of = silver.bronze
    state = {row["capture_id"]: row for row in of.state}
    captures = [row for row in of.captures if row["ingest_seq"] in rounds]
    stated = stated_voters(captures, held, of.snapshots, silver.snapshot_sets, of.state)
    for row in captures:
        capture_id = row["capture_id"]
        source = held.captures[capture_id]["source"]
        first_voters = initial.get(replica_of(row), frozenset())
        in_force = stated[capture_id]["in_force"]
        voters = () if in_force is None else (one["voter_id"] for one in in_force["voters"])
        state_row = state.get(capture_id, _NO_STATE)
        first, end = _ends(held, capture_id)
        member = replace(
            _member(row, source, state_row, first_voters, frozenset(voters)),
            log_end=end,
            has_records=first is not None or may_hold_records(row),
        )
        at = held.captures[capture_id]["captured_at"]
        yield RoundMember(row["ingest_seq"], capture_id, at, member, first)


def _ends(held: HeldBatches, capture_id: str) -> tuple[int | None, OffsetAndEpoch | None]:
    """The first offset in a capture's log, and the log's end; None where the log is empty."""
    places, batches = held.places(capture_id), held.batches
    if not len(places):
        return None, None
    last = places[int(batches.last_offset[places].argmax())]
    end = OffsetAndEpoch(int(batches.last_offset[last]) + 1, int(batches.leader_epoch[last]))
    return int(batches.base_offset[places].min()), end


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


def _member(
    capture: Row, source: str, state: Row, initial_voters: VoterKeys, voters: frozenset[int]
) -> GroupMember:
    shown = partial(_shown_file, source, capture["files"])
    bootstrap = shown(lambda name: name.snapshot == SnapshotName(BOOTSTRAP_SNAPSHOT))
    return GroupMember(
        replica_of(capture),
        source,
        meta_properties_of(source, capture["files"]),
        shown(lambda name: name.kind is FileKind.QUORUM_STATE) or source,
        bootstrap or source,
        leader_id=state["leader_id"],
        leader_epoch=state["leader_epoch"],
        current_voters=tuple(state["current_voters"] or ()),
        voters=voters,
        initial_voters=initial_voters if bootstrap else frozenset(),
    )


def meta_properties_of(source: str, files: Sequence[Row]) -> str:
    """The path of a capture's meta.properties below the directory as the user of ingest named it;
    that directory where the capture has no such file. files: as in bronze.captures."""
    return _shown_file(source, files, lambda name: name.kind is FileKind.META_PROPERTIES) or source


def _shown_file(
    source: str, files: Sequence[Row], is_wanted: Callable[[FileName], bool]
) -> str | None:
    """The path of the first file whose name is wanted, below the directory as the user of ingest
    named it; None where the capture has no such file. source: that directory."""
    paths = [file["path"] for file in files]
    folders = (path.partition("/")[0] for path in paths if "/" in path)
    directory = DirectoryPath(next(folders, METADATA_FOLDER), source)
    wanted = (path for path in paths if is_wanted(classify(os.path.basename(path))))
    path = next(wanted, None)
    return None if path is None else directory.shown_file(path)


def may_hold_records(capture: Row) -> bool:
    """Whether a file of a log without batches shows that the log once held records, or may hold
    some: a snapshot other than the bootstrap snapshot, or a segment that isn't empty."""
    names = [(classify(os.path.basename(one["path"])), one) for one in capture["files"]]
    return any(
        name.snapshot != SnapshotName(BOOTSTRAP_SNAPSHOT)
        if name.kind is FileKind.SNAPSHOT
        else name.kind is FileKind.SEGMENT and one["size_bytes"] > 0
        for name, one in names
    )


Entries = Mapping[int, LogBatch]
"""The batches of a log. The key is an offset that the batch holds."""


def wanted_offsets(members: Iterable[RoundMember]) -> dict[int, tuple[int, ...]]:
    """By round, the offsets whose entries are compared: the first offset of each log. Rounds with a
    single cluster are left out."""
    return {
        number: tuple(sorted({o.first_offset for o in some if o.first_offset is not None}))
        for number, some in grouped(members, attrgetter("ingest_seq")).items()
        if len({one.member.replica.cluster_id for one in some}) > 1
    }


ENTRY_COLUMNS = ("base_offset", "last_offset", "leader_epoch", "crc", "size_bytes", "in_log")
"""The columns of bronze.log_batches that `entries_at` needs besides those that name the replica."""


def entries_at(rows: Iterable[Row], member: RoundMember) -> dict[int, LogBatch]:
    """The batches of a member's log by the wanted offsets that they hold. rows: batches of any
    replicas, each with `holds`: the wanted offsets in it."""
    return {
        offset: LogBatch(
            row["base_offset"],
            row["last_offset"],
            row["leader_epoch"],
            (row["crc"], row["size_bytes"]),
        )
        for row in rows
        if replica_of(row) == member.member.replica
        and any(covers(span, member.captured_at) for span in row["in_log"])
        for offset in row["holds"]
    }


def membership_findings(
    members: Iterable[RoundMember], entries: Mapping[str, Entries]
) -> list[Row]:
    """The findings of rounds, as rows of gold.findings. members: the members of all clusters of the
    rounds. entries: by capture_id, the entries at wanted_offsets."""
    found: list[Row] = []
    for together in grouped(members, attrgetter("ingest_seq")).values():
        group = [_with_entries(one, entries) for one in together]
        captures = {member: one.capture_id for member, one in zip(group, together, strict=True)}
        for member, finding in judge_membership(group):
            about = {**asdict(member.replica), "capture_id": captures[member]}
            subjects = subjects_text(finding.subjects) if finding.subjects else None
            found.append({**about, **finding_row(finding), "subjects": subjects})
        files = {member.meta_properties: member for member in group}
        for finding in judge_first_election(_formatted_nodes(group)):
            member = files[finding.file]
            about = {**asdict(member.replica), "capture_id": captures[member]}
            found.append({**about, **finding_row(finding)})
    return without_repetitions(found)


def _formatted_nodes(group: Sequence[GroupMember]) -> tuple[FormattedNode, ...]:
    """The nodes of a round; empty if a log of the round holds a record. FormattedNode.records is
    None, because a lake doesn't have the records of bootstrap.checkpoint."""
    if any(member.has_records for member in group):
        return ()
    return tuple(
        FormattedNode(
            member.replica,
            member.meta_properties,
            (),
            Formatting.NO_VOTERS,
            member.initial_voters or frozenset(map(ReplicaKey, member.current_voters)),
            member.leader_epoch,
            None if member.leader_id == NO_NODE else member.leader_id,
        )
        for member in group
    )


def _with_entries(one: RoundMember, entries: Mapping[str, Entries]) -> GroupMember:
    if one.capture_id not in entries:
        return one.member
    return replace(one.member, first_offset=one.first_offset, entries=entries[one.capture_id])
