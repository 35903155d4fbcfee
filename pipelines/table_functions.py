"""The function that makes each derived table's rows, for one cluster at a time and without Spark.

SILVER_FUNCTIONS and GOLD_FUNCTIONS map a table's contract to its function. Silver and Gold
(pipelines.gold.inputs) have the input of these functions, and intermediate results that
several tables share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from pipelines.cluster.rows import Row
from pipelines.gold.batch_sizes import batch_sizes
from pipelines.gold.divergence_points import divergence_points
from pipelines.gold.elections import elections
from pipelines.gold.health_rules import EXPOSURE
from pipelines.gold.inputs import Gold, Silver
from pipelines.gold.log_growth import log_growth
from pipelines.gold.retention_forecast import retention_forecast
from pipelines.gold.snapshot_validity import snapshot_validity
from pipelines.gold.voter_beliefs import voter_beliefs
from pipelines.gold.votes import votes
from pipelines.silver.leader_epochs import leader_epochs
from pipelines.silver.voter_sets import voter_sets
from pipelines.tables import gold, quorum, silver
from pipelines.tables.contract import Contract

Content: TypeAlias = Sequence[Row] | Iterator[Row] | pa.Table
"""The rows of a table, at least with the columns of its contract."""


SILVER_FUNCTIONS: Mapping[Contract, Callable[[Silver], Content]] = {
    silver.LOG_RUNS: lambda of: of.runs,
    silver.CAPTURE_GROUPS: lambda of: of.groups,
    silver.LEADER_EPOCHS: lambda of: leader_epochs(of.bronze, of.held),
    silver.VOTER_SETS: lambda of: voter_sets(of.bronze, of.control, of.snapshot_sets),
}
"""The function that makes each silver table, except silver.committed_log, which has a row for each
record."""


def _elections(of: Gold) -> list[Row]:
    bronze = of.bronze
    return elections(of.silver.cluster_id, of.history, bronze.captures, bronze.state)


def _retention_forecast(of: Gold) -> Iterator[Row]:
    growth = of.silver.newest_ms, of.records.facts.recent
    return retention_forecast(of.bronze.whole_captures, of.bronze.snapshots, *growth, of.cadence)


GOLD_FUNCTIONS: Mapping[Contract, Callable[[Gold], Content]] = {
    gold.LEADER_EPOCH_HISTORY: lambda of: of.history,
    gold.DIVERGENCE_POINTS: lambda of: divergence_points(of.groups, of.bronze.captures),
    gold.TRUNCATIONS: lambda of: of.truncations,
    gold.STATE_RANGES: lambda of: of.records.ranges,
    quorum.REPLICA_STATUS: lambda of: of.status,
    quorum.ELECTIONS: _elections,
    quorum.VOTES: lambda of: votes(of.silver.cluster_id, of.history, of.bronze.state),
    quorum.VOTER_BELIEFS: lambda of: voter_beliefs(
        of.bronze.whole_captures, of.stated, of.silver.groups
    ),
    quorum.LOG_GROWTH: lambda of: log_growth(of.silver.cluster_id, of.records.facts),
    quorum.SNAPSHOT_CADENCE: lambda of: of.cadence,
    quorum.BATCH_SIZES: lambda of: batch_sizes(of.silver.cluster_id, of.records.facts),
    quorum.RETENTION_FORECAST: _retention_forecast,
    gold.FAILURE_EXPOSURE: lambda of: of.health(EXPOSURE),
    gold.SNAPSHOT_VALIDITY: lambda of: snapshot_validity(of.judged),
    gold.FINDINGS: lambda of: of.findings,
}
"""The function that makes each table of gold, except gold.metadata_history and
gold.metadata_changes, which have rows for each record, and gold.verdicts, whose rows are made last.
The rows of gold.findings lack those between clusters."""
