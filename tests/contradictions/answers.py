"""The answers of all commands about one cluster, as one value. The commands' own functions are
called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from jobs.cli.asking.sql_delta_rs import OwnQueries
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.cli.directories.recover import plan_of
from jobs.cli.directories.recover_rehearsed import RehearsedPlan, rehearse_plan
from jobs.cli.directories.rehearsed import rehearsed_quorum
from jobs.cli.directories.restore import RestoreSource, of_directories
from jobs.cli.sharing.report import source
from pipelines.bronze.captured import uncovered
from pipelines.lake import Lake
from pipelines.report.gathering import make_report
from pipelines.report.view import ClusterView
from pipelines.tables.gold import GOLD
from replica.doctor.check.catalogue import groups
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import JudgedGroup, judge_group
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.known_quorum import EarlierRounds, earlier_rounds
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.exposure import Exposure, Failure, exposures
from replica.doctor.preflight.answer import Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.stopping import stop_brokers, stop_rack
from replica.doctor.quorum.recovery import RecoveryPlan
from replica.doctor.rehearsal.runs import Rehearsal, ScenarioSafety, judge, rehearse_all
from replica.doctor.rehearsal.step import Scenario
from replica.doctor.timeline.branch import Branch, branches_of
from replica.doctor.timeline.elections import Election, elections_of
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.events import timeline
from replica.doctor.timeline.state import state_at
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import JudgedCluster, clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import Verdict
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.history.commitment import Commitment, GroupComparison, classify_compared, compare_group
from replica.history.log import OffsetRange, ReplicaLog
from replica.history.ranges import END_OF_OFFSETS, Ranges, union
from replica.model.keys import ReplicaKey
from tests.contradictions.clusters import Given

Row = Mapping[str, Any]
RUNS = range(3)
"""The seeds of rehearsals."""
_MOST_BROKERS = 6
"""The most brokers that are stopped in pairs."""


@dataclass(frozen=True)
class InLake:
    """A cluster in a lake. tables: the rows of each table of gold about the cluster, by the table's
    name."""

    tables: Mapping[str, Sequence[Row]]
    report: ClusterView


@dataclass(frozen=True)
class Rehearsed:
    """The answer of `rehearse` without a scenario."""

    rehearsal: Rehearsal
    answer: ScenarioSafety
    reasons: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Answers:
    """The answers about the newest capture of one cluster.

    judged, checked: `check`.
    group, commitment: the values that `check`, `diff` and `recover` compare.
    plan, rehearsed_plan: `recover --plan --rehearse`.
    rehearsed: `rehearse`.
    refused: by command, why it gives no answer; its fields are None then.
    stops: `plan --stop-broker` by ids.
    racks: `plan --stop-rack` by name.
    exposed: `state --exposure`.
    branch, elections, events: `timeline`.
    in_lake: tables and report; None where the directories were not put in a lake.
    earlier: the logs at earlier captures, the oldest first.
    hidden: for each capture, the newest included, the offsets at which damage may hide what a
        replica has, such as those after a torn end.
    restored: the source of `restore`.
    state: `state`: (kind, key) -> value as JSON; only where there is a lake.
    verdict_on: the evidence that decides verdicts.
    """

    given: Given
    judged: JudgedGroup
    checked: JudgedCluster | None
    group: GroupComparison
    commitment: Commitment
    plan: RecoveryPlan
    rehearsed_plan: RehearsedPlan | None
    rehearsed: Rehearsed | None
    branch: Branch | None
    elections: tuple[Election, ...]
    events: tuple[Event, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    stops: Mapping[tuple[int, ...], Preflight] = field(default_factory=dict)
    racks: Mapping[str, Preflight] = field(default_factory=dict)
    exposed: tuple[Exposure, ...] = ()
    in_lake: InLake | None = None
    earlier: tuple[Mapping[ReplicaKey, ReplicaLog], ...] = ()
    hidden: tuple[Mapping[ReplicaKey, Ranges], ...] = ()
    restored: RestoreSource | None = None
    state: Mapping[tuple[str, str], str] = field(default_factory=dict)
    verdict_on: Callable[[ClusterEvidence], Verdict] = verdict_on

    @property
    def between(self) -> frozenset[str]:
        """The ids of check's rules that find something between the directories."""
        return frozenset(finding.rule.id for finding in self.judged.findings)

    @property
    def is_one_history(self) -> bool:
        """Whether no two histories contradict each other. Where two do, directories are judged by
        the newest log and a lake by the agreed branch. check, recover and the report say so."""
        return not self.between & {groups.CONFLICT.id, groups.COMMITTED_DATA_AT_RISK.id}

    @property
    def cluster(self) -> Cluster | None:
        """The state that check judges."""
        return None if self.checked is None else self.checked.cluster

    def exposure(self, failure: Failure) -> Exposure | None:
        return next((one for one in self.exposed if one.failure == failure), None)

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table of gold about the cluster; none without a lake."""
        return () if self.in_lake is None else self.in_lake.tables.get(table, ())

    def latest(self, table: str) -> Sequence[Row]:
        """The rows about the newest capture."""
        return [row for row in self.rows(table) if row["is_latest"]]


Rule = Callable[[Answers], Iterator[str]]
"""A function of all answers that gives the contradictions among them, a sentence each. Its
docstring says why the answers must agree."""


def answers_of(given: Given, folder: Path, in_lake: InLake | None = None) -> Answers:
    """All answers about the directories of a cluster, which are written below `folder`."""
    looks = [_examined(files, folder / name) for name, files in given.looks.items()]
    *older, members = looks
    earlier = earlier_rounds(older)
    judged = judge_group(members, newest=True, earlier=earlier)
    clusters = [one for one in clusters_of(judged, {}) if one.state is not None]
    assert len(clusters) <= 1, "one cluster"
    checked = _asked(clusters[0]) if clusters else None
    cluster = None if checked is None else checked.cluster
    plan, by_key = plan_of(members, earlier)
    group = compare_group([standing.log for standing in plan.ranking])
    refused: dict[str, str] = {}
    rehearsed_plan = _or_refused(
        refused, "recover", lambda: rehearse_plan(plan, by_key, RUNS, earlier)
    )
    rehearsed = _or_refused(refused, "rehearse", lambda: _rehearse(members, earlier))
    branches = branches_of(looks)
    assert len(branches) <= 1, "one cluster"
    branch = branches[0] if branches else None
    events = () if branch is None else timeline(branch).events
    return Answers(
        given,
        judged,
        checked,
        group,
        classify_compared(group),
        plan,
        rehearsed_plan,
        rehearsed,
        branch,
        () if branch is None else elections_of(branch, ()),
        events,
        refused,
        {} if cluster is None else dict(_stops(cluster)),
        {} if cluster is None else dict(_racks(cluster)),
        () if cluster is None else tuple(exposures(cluster)),
        in_lake,
        tuple({one.owner.key: replica_log(one, "") for one in look} for look in looks[:-1]),
        tuple({one.owner.key: _hidden(one) for one in look} for look in looks),
        _or_refused(
            refused, "restore", lambda: of_directories([str(folder)], None, [*given.looks])
        ),
        {} if in_lake is None or branch is None else _state(branch),
    )


def _asked(checked: JudgedCluster) -> JudgedCluster:
    """The cluster as `plan` and `state --exposure` judge it: they know the verdict of check."""
    if checked.cluster is None:
        return checked
    verdict = verdict_on(evidence_of(checked))
    return replace(checked, cluster=with_verdict(checked.cluster, verdict))


def _hidden(examined: Examined) -> Ranges:
    return union(
        OffsetRange(one.start, END_OF_OFFSETS if one.end is None else one.end)
        for one in uncovered(examined.directory)
    )


def _state(branch: Branch) -> dict[tuple[str, str], str]:
    held = state_at(branch, branch.log.end_offset, None)
    return {(one.entity, one.key): one.value for one in held} if isinstance(held, list) else {}


def write(files: Mapping[int, Mapping[str, bytes]], folder: Path) -> None:
    """Writes the files of each node to FOLDER/NODE."""
    for node_id, content in files.items():
        for path, data in content.items():
            file = folder / str(node_id) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def _examined(files: Mapping[int, Mapping[str, bytes]], folder: Path) -> list[Examined]:
    write(files, folder)
    return [
        examine(
            DirectoryPath(
                str(folder / str(node_id) / METADATA_FOLDER), f"{node_id}/{METADATA_FOLDER}"
            )
        )
        for node_id in files
    ]


def _or_refused(refused: dict[str, str], command: str, asked: Any) -> Any:
    try:
        return asked()
    except UsageError as error:
        refused[command] = str(error)
        return None


def _rehearse(members: Sequence[Examined], earlier: EarlierRounds) -> Rehearsed:
    quorum = rehearsed_quorum(members, earlier)
    rehearsal = rehearse_all(quorum.captured, Scenario(), RUNS)
    return Rehearsed(rehearsal, *judge(rehearsal, quorum.doubts, quorum.refusals))


def _stops(cluster: Cluster) -> Iterable[tuple[tuple[int, ...], Preflight]]:
    brokers = sorted(cluster.values("brokers"))
    few = brokers[:_MOST_BROKERS]
    for ids in (*((one,) for one in brokers), *combinations(few, 2)):
        yield ids, grounded(stop_brokers(cluster, ids), cluster)


def _racks(cluster: Cluster) -> Iterable[tuple[str, Preflight]]:
    named = {fields["rack"] for fields in cluster.values("brokers").values() if fields["rack"]}
    for rack in sorted(named):
        yield rack, grounded(stop_rack(cluster, rack), cluster)


def lakes_of(all_given: Sequence[Given], folder: Path) -> dict[str, InLake]:
    """One lake of all these clusters, each capture a round. Gives tables and report by the name of
    the given cluster. No two of them are of one cluster."""
    from jobs.build import run as build
    from jobs.ingest import run as ingest

    rounds: list[str] = []
    for given in all_given:
        for name, files in given.looks.items():
            rounds += [name] if name not in rounds else []
            write(files, folder / "captures" / name / given.name)
    lake = Lake(folder / "lake")
    order = ",".join(sorted(rounds)) if len(rounds) > 1 else None
    ingest(IngestOptions([str(folder / "captures")], lake, order=order, accept_damage=True))
    assert build(BuildOptions(lake)) == 0
    found = read_lake(folder / "lake")
    return {one.name: found[one.cluster_id] for one in all_given if one.cluster_id in found}


def read_lake(path: Path, *wanted: str) -> dict[str, InLake]:
    """The tables and the report of each cluster in a lake, by the cluster's id. wanted: the
    clusters' ids, where not all are wanted."""
    lake = Lake(path)
    queries = OwnQueries(lake)
    by_cluster: dict[str, dict[str, list[Row]]] = {}
    for contract in GOLD:
        for row in queries.named_rows(f"SELECT * FROM {contract.name}"):
            if wanted and row["cluster_id"] not in wanted:
                continue
            by_cluster.setdefault(row["cluster_id"], {}).setdefault(contract.name, []).append(row)
    asked = source(lake)
    found = {}
    for cluster_id, tables in by_cluster.items():
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        report = make_report(asked, cluster=cluster_id, version="", generated_at=moment)
        found[cluster_id] = InLake(tables, report.clusters[0])
    return found
