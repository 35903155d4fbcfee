"""All tables about the quorum, in the order in which they are built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.in_memory.control import SnapshotKey
from pipelines.in_memory.quorum.batch_sizes import batch_sizes
from pipelines.in_memory.quorum.elections import elections
from pipelines.in_memory.quorum.log_growth import log_growth
from pipelines.in_memory.quorum.replica_status import replica_status
from pipelines.in_memory.quorum.retention_forecast import retention_forecast
from pipelines.in_memory.quorum.snapshot_cadence import snapshot_cadence
from pipelines.in_memory.quorum.stated_voters import stated_voters
from pipelines.in_memory.quorum.voter_beliefs import voter_beliefs
from pipelines.in_memory.quorum.votes import votes
from pipelines.in_memory.rows import BranchBatch, BronzeRows, HeldBatch, Row


@dataclass(frozen=True)
class Sources:
    """held: from by_capture. branch: the batches of the agreed branch. groups: rows of
    group_findings. history: rows of gold.leader_epoch_history. snapshot_voter_sets: from
    pipelines.in_memory.control."""

    bronze: BronzeRows
    held: Mapping[str, Sequence[HeldBatch]]
    branch: Sequence[BranchBatch]
    groups: Sequence[Row]
    history: Sequence[Row]
    snapshot_voter_sets: Mapping[SnapshotKey, Sequence[Row]]


def quorum_tables(sources: Sources) -> Iterator[tuple[str, list[Row]]]:
    """Every table of pipelines.tables.quorum, such as gold.replica_status, with its rows."""
    s, bronze = sources, sources.bronze
    captures, snapshots, state = bronze.captures, bronze.snapshots, bronze.state
    stated = stated_voters(captures, s.held, snapshots, s.snapshot_voter_sets, state)
    status = replica_status(captures, s.held, snapshots, state, stated, s.groups)
    yield "gold.replica_status", list(status)
    yield "gold.elections", elections(s.history, captures, state)
    yield "gold.votes", list(votes(s.history, state))
    yield "gold.voter_beliefs", list(voter_beliefs(captures, stated, s.groups))
    yield "gold.log_growth", list(log_growth(s.branch, bronze.records))
    cadence = list(snapshot_cadence(snapshots, s.branch))
    yield "gold.snapshot_cadence", cadence
    yield "gold.batch_sizes", list(batch_sizes(s.branch))
    yield (
        "gold.retention_forecast",
        list(retention_forecast(captures, snapshots, s.branch, cadence)),
    )
