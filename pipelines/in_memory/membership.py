"""Findings about the identity that the members of a round claim: replica.check.membership on the
tables.

A round is what was looked at together, so the rules see what one call of `kraftlake check` sees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.gold.rules.membership import told
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.control import SnapshotKey
from pipelines.in_memory.held import HeldBatches, one_row_per_capture
from pipelines.in_memory.rows import Row, nulls_first
from pipelines.tables.keys import REPLICA_KEYS, replica_of
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaId

_ENTRY = ("base_offset", "last_offset", "leader_epoch", "crc", "size_bytes")
_STATE = ("leader_id", "leader_epoch", "current_voters")
_NO_STATE: Row = dict.fromkeys(_STATE)


class RoundMember(NamedTuple):
    """A capture in a round. row: what the rules need, without the batches. held: a row for each
    batch of its log, in columns of _ENTRY."""

    ingest_seq: int
    row: Row
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
    sources = {row["capture_id"]: row["source"] for row in one_row_per_capture(bronze.captures)}
    state = {row["capture_id"]: row for row in bronze.state}
    initial = _initial_voters(snapshot_sets)
    for row in bronze.captures:
        capture_id = row["capture_id"]
        known = {
            **{name: row[name] for name in REPLICA_KEYS},
            "capture_id": capture_id,
            "source": sources[capture_id],
            "paths": [file["path"] for file in row["files"]],
            **{name: state.get(capture_id, _NO_STATE)[name] for name in _STATE},
            "initial_voters": initial.get(replica_of(row)),
        }
        places = held.places(capture_id) if compared else np.zeros(0, np.int64)
        columns = [getattr(held.batches, name)[places] for name in _ENTRY]
        yield RoundMember(row["ingest_seq"], known, np.stack(columns, axis=1))


def membership_findings(members: Iterable[RoundMember]) -> Iterator[Row]:
    """The findings of all rounds, as rows with the columns PLACED. members: those of all clusters
    in the rounds."""
    rounds: defaultdict[int, list[RoundMember]] = defaultdict(list)
    for member in members:
        rounds[member.ingest_seq].append(member)
    for together in rounds.values():
        entries = _entries(together)
        unknown = {"first_offset": None, "entries": None}
        yield from told(
            [{**one.row, **entries.get(one.row["capture_id"], unknown)} for one in together]
        )


def _initial_voters(
    snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
) -> dict[ReplicaId, list[Row]]:
    """The voters in the bootstrap snapshot of each replica."""
    named: defaultdict[ReplicaId, list[list[Row]]] = defaultdict(list)
    for (cluster_id, node_id, directory_id, end_offset, *_), sets in snapshot_sets.items():
        voters = [found["voters"] for found in sets]
        if end_offset == BOOTSTRAP_SNAPSHOT.offset and None not in voters:
            replica = ReplicaId(cluster_id, node_id, directory_id)
            named[replica].append([voter for one in voters for voter in one])
    return {replica: max(sets, key=nulls_first) for replica, sets in named.items()}


def _entries(members: Sequence[RoundMember]) -> dict[str, Row]:
    """By capture_id, for a round with several clusters: first_offset, and `entries`, the batches
    that hold the first offset of any log of the round."""
    if len({member.row["cluster_id"] for member in members}) < 2:
        return {}
    held = {member.row["capture_id"]: member.held for member in members if len(member.held)}
    firsts = {capture_id: int(batches[:, 0].min()) for capture_id, batches in held.items()}
    offsets = sorted(set(firsts.values()))
    return {
        capture_id: {
            "first_offset": first,
            "entries": [one for offset in offsets for one in _holding(held[capture_id], offset)],
        }
        for capture_id, first in firsts.items()
    }


def _holding(held: npt.NDArray[np.int64], offset: int) -> Iterator[dict[str, int]]:
    """The batches that hold an offset."""
    base_offsets, last_offsets = held[:, 0], held[:, 1]
    for batch in held[(base_offsets <= offset) & (offset <= last_offsets)].tolist():
        yield {"offset": offset, **dict(zip(_ENTRY, batch, strict=True))}
