"""The stage that derives all tables of a cluster in one unit, from bronze to gold. Small clusters
share a unit.

`grown_cluster` is for a cluster of which the build before has judged a part, `large_cluster` for a
cluster that is too large for one unit. All three give the same rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from pipelines.cluster.branch_facts import summed_facts
from pipelines.cluster.cluster_tables import HeldTables
from pipelines.cluster.rows import Row, of_cluster
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.gold.failure_exposure import health
from pipelines.gold.inputs import Gold, Records, Silver
from pipelines.gold.membership import RoundMember, members_of
from pipelines.gold.metadata_changes import metadata_changes
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.other_disks import NOTHING_BESIDE, BesideCluster
from pipelines.gold.state_ranges import state_ranges
from pipelines.gold.verdicts import NewestEvidence, newest_evidence
from pipelines.quality.judge import judge_layer
from pipelines.replay.reading import BranchReader, replayed_whole
from pipelines.silver.log_runs import log_runs
from pipelines.stages.output import OF_UNITS, Output, Replaced, UnitResult, table_of
from pipelines.stages.pins import Pins
from pipelines.table_functions import GOLD_FUNCTIONS, SILVER_FUNCTIONS
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from replica.metadata.passed_over import NOTHING, PassedOver


@dataclass(frozen=True)
class DerivedClusters:
    """The result of a unit, besides the files that it wrote."""

    members: tuple[RoundMember, ...]
    """The captures of the unit's clusters in the ingest rounds that the build judges."""
    evidence: tuple[NewestEvidence, ...]
    """The evidence of the newest captures, for each cluster of which a whole capture is known."""


@dataclass(frozen=True)
class Clusters:
    """A unit: clusters that are derived together."""

    clusters: tuple[str, ...]
    records: int
    """The approximate number of records of these clusters."""
    replaced: Replaced
    rounds: frozenset[int] = frozenset()
    """The numbers of the ingest rounds that the build judges."""
    beside: Mapping[str, BesideCluster] = field(default_factory=dict)
    """By cluster id: what other directories show of the cluster's voters (see Silver.beside)."""


def derive(unit: Clusters, pins: Pins) -> UnitResult:
    """Makes the rows of all tables of silver and gold for the unit's clusters, except gold.verdicts
    and the findings between clusters. `facts` of the result is a DerivedClusters.

    Where rows break an expectation whose action is STOP, the caller commits nothing. Raises OSError
    and UnwritableFileError for files that can't be written, and what delta-rs raises.
    """
    out = Output(pins, unit.replaced, is_whole=True)
    rows = {one: pins.rows(one, unit.clusters) for one in bronze.DERIVED_FROM}
    admitted = {one: out.note(judged) for one, judged in judge_layer(rows).items()}
    known = pins.rows(silver.CAPTURE_GROUPS, unit.clusters)
    tables: defaultdict[Contract, list[pa.Table]] = defaultdict(list)
    members: list[RoundMember] = []
    evidence: list[NewestEvidence] = []
    with no_search_for_cycles():
        for cluster_id in unit.clusters:
            groups = of_cluster(known, cluster_id).to_pylist()
            one = of_one(cluster_id, admitted, groups, pins.passed_over)
            beside = unit.beside.get(cluster_id, NOTHING_BESIDE)
            derived, made = derived_from(replace(one, beside=beside))
            for contract, rows_of_one in made.items():
                tables[contract].append(rows_of_one)
            evidence += newest_evidence(derived)
            members += members_of(one, unit.rounds)
    for contract in OF_UNITS:
        if contract.change_feed:  # the feed needs a deletion of each row of clusters that are gone
            tables[contract] = tables[contract] or [contract.arrow_schema.empty_table()]
    for contract, parts in tables.items():
        out.put(contract, pa.concat_tables(parts))
    out.carry_others()
    return out.result(DerivedClusters((*members,), (*evidence,)))


def of_one(
    cluster_id: str,
    admitted: Mapping[Contract, pa.Table],
    groups: Sequence[Row] = (),
    passed_over: PassedOver = NOTHING,
) -> Silver:
    """The input from which the tables of a cluster are made. admitted: rows of bronze's tables,
    from which rows may be derived. groups: rows of silver.capture_groups that an earlier build
    made. passed_over: the types of records that the replay passes over."""
    mine = {contract: of_cluster(rows, cluster_id) for contract, rows in admitted.items()}
    tables = HeldTables(cluster_id, mine, passed_over)
    runs = log_runs(mine[bronze.LOG_BATCHES])
    return Silver(tables, runs, {row["capture_group"]: row for row in groups})


def derived_from(of: Silver) -> tuple[Gold, dict[Contract, pa.Table]]:
    """All tables of silver and gold of a cluster except gold.verdicts, and the inputs of gold's
    functions."""
    made = {one: table_of(one, node(of)) for one, node in SILVER_FUNCTIONS.items()}
    derived, of_records = replayed_tables(of)
    made |= {one: table_of(one, rows) for one, rows in of_records.items()}
    made |= {one: table_of(one, node(derived)) for one, node in GOLD_FUNCTIONS.items()}
    return derived, made


def replayed_tables(of: Silver) -> tuple[Gold, dict[Contract, pa.Table]]:
    """Replays a cluster that one unit holds. Gives the inputs of gold's functions, and the rows of
    those tables that the replay itself makes."""
    reader = BranchReader(of.tables)
    surveyed, found = replayed_whole(reader, of.log, of.agreed, of.asked, of.compared_before)
    history = metadata_history(found.written)
    facts = summed_facts(one.facts for one in surveyed)
    records = Records(facts, found.compared, state_ranges(found.written).to_pylist())
    committed = [one.committed for one in surveyed]
    earlier = of.earlier_exposure
    if earlier is not None and earlier.steps.stop > of.compared_before.same_until(committed):
        earlier = None
    return Gold(of, records, partial(health, history, earlier=earlier)), {
        silver.COMMITTED_LOG: joined(silver.COMMITTED_LOG, committed),
        gold.METADATA_HISTORY: history,
        gold.METADATA_CHANGES: metadata_changes(found.written),
    }


def joined(contract: Contract, parts: Sequence[pa.Table]) -> pa.Table:
    """The rows of all parts."""
    return pa.concat_tables(parts) if parts else contract.arrow_schema.empty_table()
