"""Bronze to silver to gold: the stages of a build in their order, whichever engine runs them.

A cluster that isn't large is derived in one unit, and small ones share one. A larger one is derived
by the same functions in several stages. Each unit judges what it reads and makes, and writes data
files. When all units are done, and no expectation that stops a build is broken, the driver commits
the files: one commit for each table.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines import delta
from pipelines.audit_and_commit import AuditAndCommit
from pipelines.changed_clusters import (
    DERIVED,
    ChangedClusters,
    ClusterSize,
    check_ingested,
    cluster_groups,
)
from pipelines.cluster.rows import Row
from pipelines.gold.findings import without_repetitions
from pipelines.gold.membership import (
    Entries,
    RoundMember,
    formatted_findings,
    membership_findings,
    wanted_offsets,
)
from pipelines.gold.other_disks import BesideCluster, RoundDirectories
from pipelines.gold.verdicts import clusters_beside, verdicts
from pipelines.lake.lock import between_ingests
from pipelines.lake.passing_over import passed_over_in
from pipelines.large_clusters import LargeClusters
from pipelines.last_build import last_build
from pipelines.quality.data_docs import start_great_expectations
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain
from pipelines.stages import rounds
from pipelines.stages.grown_cluster import Grown, derive_grown
from pipelines.stages.large_cluster import LastTables
from pipelines.stages.output import BETWEEN_CLUSTERS, Output, Replaced, table_of
from pipelines.stages.pins import Pins
from pipelines.stages.run import BuildStages
from pipelines.stages.whole_cluster import Clusters, derive
from pipelines.tables import bronze, gold
from pipelines.unchanged_logs import stayed_parts

_MOST_RECORDS = 200_000
"""The most records of a cluster that is derived in one unit. A record takes 1 to 2 kB of memory."""
_MOST_VALUE_BYTES = 128 * 1024 * 1024
"""The most bytes of the records of a cluster that is derived in one unit. What a unit makes of them
takes several times as much memory."""
_SNAPPY_FACTOR = 22
"""The most decompressed bytes that a byte of a data file of bronze can stand for: Snappy compresses
to no less than a 21st."""
_RECORDS_OF_A_UNIT = 20_000
"""How many records of small clusters are derived together."""
_MEMBERS_OF_A_UNIT = 50
"""The most captures of a round for which one unit reads the entries at the first offsets of all
logs."""


def build(
    lake: delta.Lake,
    runner: Runner,
    progress: Callable[[str], None],
    run_id: str | None = None,
    share: Callable[[float], None] = lambda _: None,
) -> dict[str, int]:
    """Brings all silver and gold tables of the lake up to date. Gives how many rows each table has,
    by its name.

    The same bronze gives the same rows. progress: is called with a line of text before each stage,
    and for each expectation that rows break. run_id: the run_id of the rows in
    gold.quality_results. share: is called with the part of the build that is done, from 0 to 1.
    Raises UsageError where the lake has no bronze tables, CorruptDataError where rows break an
    expectation that stops a build (then nothing is committed), and what delta-rs raises.
    """
    check_ingested(lake)
    start_great_expectations()
    with between_ingests(lake, progress):
        versions = {one.name: delta.version(lake, one) for one in bronze.BRONZE}
    versions |= {one.name: delta.ensure_table(lake, one) for one in DERIVED}
    last = last_build(lake)
    before = last if last is not None and last.can_be_continued(lake) else None
    clusters = ChangedClusters(Pins(lake, versions, passed_over_in(lake)), before)
    if before is not None:
        progress(f"{len(clusters.changed)} of {len(clusters.all)} clusters have changed")
    stages = BuildStages(clusters.pins, runner, progress, _shares(clusters, share))
    large = _derive(stages, clusters)
    between = _compare_clusters(stages, clusters)
    newest = rounds.directories_of(clusters.pins, {one.ingest_seq for one in stages.evidence})
    _derive_again(stages, large, dict(clusters_beside(stages.evidence, between, newest)))
    _judge_clusters(stages, clusters, between, newest)
    stages.run("judge damage", Grain.TABLE, rounds.judge_damage, [None])
    return AuditAndCommit(stages, clusters, run_id or str(uuid.uuid4())).run()


def _shares(clusters: ChangedClusters, share: Callable[[float], None]) -> Callable[[Any], None]:
    """A function to call with each unit that is done. It calls `share` with the part of the work
    that is done, from 0 to 1."""
    total = max(1, sum(one.records for one in clusters.sizes.values()))
    done = 0

    def add(unit: Any) -> None:
        nonlocal done
        done += getattr(unit, "records", 0)
        share(min(1.0, done / total))

    return add


def _derive(stages: BuildStages, clusters: ChangedClusters) -> LargeClusters:
    """Derives the changed clusters, and removes the rows of clusters that are gone. Gives the large
    clusters."""
    sizes = clusters.sizes
    value_bytes = clusters.value_bytes([one for one in sizes if _may_be_large(sizes[one])])
    large = {
        one: size.records
        for one, size in sizes.items()
        if size.records > _MOST_RECORDS or value_bytes.get(one, 0) > _MOST_VALUE_BYTES
    }
    stayed = {one: part for one, part in stayed_parts(clusters).items() if one not in large}
    small = {one: size.records for one, size in sizes.items() if one not in {*large, *stayed}}
    groups = cluster_groups(small, _RECORDS_OF_A_UNIT)
    gone = [tuple(clusters.removed)] if clusters.removed else []
    places = clusters.replaced([*groups, *((one,) for one in (*large, *stayed)), *gone])
    replaced = {one.clusters: one for one in places}
    units = [
        Clusters(group, sum(map(small.__getitem__, group)), replaced[group], clusters.new_rounds)
        for group in groups
    ]
    units += [Clusters((), 0, replaced[group]) for group in gone]
    grown = [
        Grown(Clusters((one,), sizes[one].records, replaced[one,], clusters.new_rounds), part)
        for one, part in stayed.items()
    ]
    done = stages.run("derive", Grain.CLUSTER, derive, units, DERIVED)
    done += stages.run("derive what has grown", Grain.CLUSTER, derive_grown, grown, DERIVED)
    stages.ends += zip((*units, *(one.cluster for one in grown)), done, strict=True)
    for one in done:
        stages.members += one.facts.members
        stages.evidence += one.facts.evidence
    of_large = LargeClusters(stages, large, replaced, clusters.new_rounds)
    if large:
        of_large.run()
    return of_large


def _derive_again(
    stages: BuildStages, large: LargeClusters, beside: dict[str, BesideCluster]
) -> None:
    """Derives again the clusters in `beside`: those about whose nodes other directories of the same
    round show something. This is known only after all clusters of a round were derived, and is
    rare. beside: the facts that these directories show, by cluster id."""
    units = stages.drop(beside) if beside else []
    whole = [replace(one, beside=beside) for one in units if isinstance(one, Clusters)]
    done = stages.run("derive beside other clusters", Grain.CLUSTER, derive, whole, DERIVED)
    for one in done:
        stages.evidence += one.facts.evidence
    large_ones = [one for one in units if isinstance(one, LastTables)]
    if large_ones:
        large.make_last_tables([replace(one, beside=beside[one.cluster_id]) for one in large_ones])


def _may_be_large(size: ClusterSize) -> bool:
    return size.file_bytes * _SNAPPY_FACTOR > _MOST_VALUE_BYTES


def _compare_clusters(stages: BuildStages, clusters: ChangedClusters) -> list[Row]:
    """Makes the findings of rounds, which compare captures that were taken together. Gives these
    findings, and the findings of earlier builds that stay."""
    units = [
        rounds.Members(some, offsets)
        for number, offsets in wanted_offsets(stages.members).items()
        for some in _in_parts([one for one in stages.members if one.ingest_seq == number])
    ]
    entries: dict[str, Entries] = {}
    for found in stages.run("first entries", Grain.ROUND, rounds.first_entries, units):
        entries |= found.facts
    directories = rounds.directories_of(clusters.pins, clusters.new_rounds)
    formatted = without_repetitions(formatted_findings(directories.values()))
    rows = table_of(gold.FINDINGS, membership_findings(stages.members, entries) + formatted)
    out = Output(stages.pins, Replaced(()))
    names = gold.FINDINGS.column_names
    held = stages.pins.columns(gold.FINDINGS, names, BETWEEN_CLUSTERS)
    is_continued = clusters.before is not None
    out.put_findings(held, rows, keep=is_continued, gone=clusters.removed)
    stages.results.append(out.result())
    return without_repetitions([*rows.to_pylist(), *(held.to_pylist() if is_continued else ())])


def _judge_clusters(
    stages: BuildStages,
    clusters: ChangedClusters,
    between: Sequence[Row],
    newest: Mapping[int, RoundDirectories],
) -> None:
    """Makes gold.verdicts, which needs the findings of rounds. newest: the rounds of the newest
    captures."""
    out = Output(stages.pins, Replaced(()))
    made = table_of(gold.VERDICTS, verdicts(stages.evidence, between, newest))
    is_continued = clusters.before is not None
    out.put_verdicts(made, [*clusters.changed, *clusters.removed] if is_continued else None)
    stages.results.append(out.result())


def _in_parts(members: list[RoundMember]) -> Iterator[tuple[RoundMember, ...]]:
    for start in range(0, len(members), _MEMBERS_OF_A_UNIT):
        yield (*members[start : start + _MEMBERS_OF_A_UNIT],)
