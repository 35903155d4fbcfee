"""All tables about the quorum, in the order in which they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipelines.gold.quorum.batch_sizes import batch_sizes
from pipelines.gold.quorum.elections import elections
from pipelines.gold.quorum.log_growth import log_growth
from pipelines.gold.quorum.replica_status import replica_status
from pipelines.gold.quorum.retention_forecast import retention_forecast
from pipelines.gold.quorum.snapshot_cadence import snapshot_cadence
from pipelines.gold.quorum.stated_voters import stated_voters
from pipelines.gold.quorum.voter_beliefs import voter_beliefs
from pipelines.gold.quorum.votes import votes
from pipelines.tables import quorum
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class Sources:
    """Bronze tables; held: from held_batches; branch_batches: silver's; findings: from
    group_findings; history: gold.leader_epoch_history."""

    captures: DataFrame
    log_records: DataFrame
    snapshots: DataFrame
    snapshot_records: DataFrame
    replica_state: DataFrame
    held: DataFrame
    branch_batches: DataFrame
    findings: DataFrame
    history: DataFrame


def quorum_views(
    sources: Sources, keep: Callable[[DataFrame], DataFrame]
) -> Iterator[tuple[Contract, DataFrame]]:
    """Every table of pipelines.tables.quorum with its rows. keep: persists what is read again."""
    s = sources
    batches = keep(s.branch_batches)
    stated = keep(
        stated_voters(s.captures, s.held, s.snapshots, s.snapshot_records, s.replica_state)
    )
    cadence = keep(snapshot_cadence(s.snapshots, batches))
    status = replica_status(s.captures, s.held, s.snapshots, s.replica_state, stated, s.findings)
    forecast = retention_forecast(s.captures, s.snapshots, batches, cadence)
    yield quorum.REPLICA_STATUS, status
    yield quorum.ELECTIONS, elections(s.history, s.captures, s.replica_state)
    yield quorum.VOTES, votes(s.history, s.replica_state)
    yield quorum.VOTER_BELIEFS, voter_beliefs(s.captures, stated, s.findings)
    yield quorum.LOG_GROWTH, log_growth(batches, s.log_records)
    yield quorum.SNAPSHOT_CADENCE, cadence
    yield quorum.BATCH_SIZES, batch_sizes(batches)
    yield quorum.RETENTION_FORECAST, forecast
