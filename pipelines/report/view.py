"""The content of the page for one cluster, ready for the sections: evidence as words and rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.html_text import Html
from pipelines.report import activity, epoch_lanes, fork, leader_lanes
from pipelines.report.divergences import Parting, partings_of, replica_of
from pipelines.report.evidence import DecodedBranches, Evidence
from pipelines.report.lanes import Fills
from pipelines.report.queries import MAX_SUBJECTS
from pipelines.report.record_rows import RecordRow, branch_rows, plain_rows
from pipelines.report.report_facts import ReportFacts, RuleCount
from pipelines.report.rounds import Rounds
from pipelines.report.source import Figure, Row
from pipelines.report.summary import Summary, known_outages, summary
from pipelines.report.travel.cluster_history import ClusterHistory
from pipelines.report.travel.shown import JourneyView, journey_view
from pipelines.report.verdict import ReportVerdict, verdict
from pipelines.report.words import Names
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.rule import Rule


class NextStep(NamedTuple):
    """What to do, and the rules that ask for it, each with the id of its place on the page."""

    text: str
    rules: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PartingView:
    """The part of the page about one divergence."""

    decoded: DecodedBranches
    drawing: Html
    records: tuple[RecordRow, ...]
    """The records at the offsets around the divergence, with one cell for each branch."""
    more: int
    """The number of further offsets that differ, whose records are not shown."""


@dataclass(frozen=True)
class RuleView(RuleCount):
    """The findings of one rule."""

    rule: Rule | None
    """The rule; None for a rule of another release."""
    rows: tuple[Row, ...]

    @property
    def more(self) -> int:
        """The number of findings of the rule that are not in `rows`."""
        return self.findings - len(self.rows)


@dataclass(frozen=True)
class HealthView:
    """A rule of health with a finding."""

    id: str
    severity: str
    message: str
    subjects: tuple[Row, ...]
    """The first entities with the finding, each with `name` and `what`."""
    rule: Rule | None
    """The rule; None for a rule of another release."""


@dataclass(frozen=True)
class TruncatedView:
    """The records of a truncation."""

    row: Row
    """The truncation's row in the table."""
    records: tuple[RecordRow, ...]
    more: int
    """The number of the truncation's records that are left out."""
    sql: str


class Section(NamedTuple):
    """A section of the page. name: the end of the section's id."""

    name: str
    title: str
    content: Html


@dataclass(frozen=True)
class ClusterView:
    """The part of the page about one cluster. A drawing is None where there is nothing to draw, and
    `travel` is None where the lake lacks the tables of the cluster's history."""

    identity: str
    """The prefix of the `id` attributes of this cluster's HTML elements in the page."""
    evidence: Evidence
    names: Names
    rounds: Rounds
    verdict: ReportVerdict
    voters: frozenset[int]
    fills: Fills
    epoch_drawing: Html
    leader_drawing: Html | None
    activity_drawing: Html | None
    activity: tuple[activity.ActivityGroup, ...]
    partings: tuple[PartingView, ...]
    truncated: tuple[TruncatedView, ...]
    rules: tuple[RuleView, ...]
    health: tuple[HealthView, ...]
    travel: JourneyView | None
    summary: Summary
    runbook: str | None
    """The name of the runbook for the verdict; None where there is none."""
    beside: tuple[Section, ...] = ()
    """Sections that the caller adds above the others."""

    @property
    def next_steps(self) -> tuple[NextStep, ...] | None:
        """What to do, by the verdict that every command gives; None where there is no verdict."""
        if self.evidence.judged is None:
            return None
        of_health, of_files = ({one.id for one in found} for found in (self.health, self.rules))
        return tuple(
            NextStep(
                step,
                tuple(
                    (rule, f"{self.identity}-{'health' if rule in of_health else 'rule'}-{rule}")
                    for fact in self.evidence.facts
                    if fact.next_step == step
                    for rule in fact.rules
                    if rule in of_health or rule in of_files
                ),
            )
            for step in self.evidence.judged.next_steps
        )

    @property
    def cluster_id(self) -> str:
        return self.evidence.cluster_id

    def name(self, row: Row) -> str:
        """The name of a row's replica, without the word node."""
        return self.names.name(replica_of(row))

    def role(self, node_id: int) -> str:
        return "voter" if node_id in self.voters else "observer"


def cluster_view(
    evidence: Evidence,
    number: int,
    history: ClusterHistory | None = None,
    beside: tuple[Section, ...] = (),
) -> ClusterView:
    """The view of one cluster. number: the number of the cluster on the page, from 1. history: the
    cluster's history; None where the lake lacks it. beside: as in ClusterView."""
    identity = f"c{number}"
    replicas = evidence.replicas.rows
    names = Names([replica_of(row) for row in (*replicas, *evidence.captures.rows)])
    rounds = Rounds(evidence.rounds.rows)
    voters = evidence.voters()
    partings = _partings(evidence)
    fills = Fills(row["leader_id"] for row in (*evidence.epochs.rows, *evidence.leaders.rows))
    lanes = []
    for row in replicas:
        is_voter = row["node_id"] in voters
        title = _lane_title(row, names, is_voter=is_voter)
        lanes.append(epoch_lanes.lane(row, title, evidence, fills, is_voter=is_voter))
    rules = _rules(evidence.findings)
    facts = _facts(evidence, names, rounds, partings, rules)
    return ClusterView(
        identity=identity,
        evidence=evidence,
        names=names,
        rounds=rounds,
        verdict=verdict(facts),
        voters=voters,
        fills=fills,
        epoch_drawing=epoch_lanes.draw(f"{identity}-epochs", lanes),
        leader_drawing=leader_lanes.draw(f"{identity}-leaders", evidence.leaders.rows, fills),
        activity_drawing=activity.draw(f"{identity}-activity", evidence.activity),
        activity=tuple(activity.groups(evidence.activity.figure.rows)),
        partings=tuple(_parting_views(evidence, names, identity)),
        truncated=tuple(_truncated(evidence)),
        rules=rules,
        health=tuple(map(_health, evidence.health.rows)),
        travel=journey_view(identity, history, evidence, names, fills),
        summary=summary(
            facts, evidence, voters, evidence.outages or known_outages(history), history
        ),
        runbook=None if evidence.judged is None else evidence.judged.runbook,
        beside=beside,
    )


def _health(row: Row) -> HealthView:
    subjects = json.loads(row["subjects"] or "[]")[:MAX_SUBJECTS]
    told = row["rule"], row["severity"], row["message"], tuple(subjects)
    return HealthView(*told, RULES_BY_ID.get(row["rule"]))


def _partings(evidence: Evidence) -> list[Parting]:
    """All divergences. Branches are distinguished by epoch; where they were decoded, by their
    batches."""
    decoded = {
        (one.parting.capture_group, one.parting.offset, one.parting.relation): one.parting
        for one in evidence.decoded
    }
    return [
        decoded.get((one.capture_group, one.offset, one.relation), one)
        for one in partings_of(evidence.partings.rows)
    ]


def _lane_title(row: Row, names: Names, *, is_voter: bool) -> str:
    role = "voter" if is_voter else "observer"
    name = names.name(replica_of(row))
    start, end, first = row["log_start_offset"], row["log_end_offset"], row["first_offset"]
    if end == start:
        return f"node {name}, {role}: empty log"
    has_older = first is not None and first < start
    older = f", older batches from {first} on still there" if has_older else ""
    return f"node {name}, {role}: offsets {start} to {end - 1}{older}"


def _facts(
    evidence: Evidence,
    names: Names,
    rounds: Rounds,
    partings: list[Parting],
    rules: tuple[RuleView, ...],
) -> ReportFacts:
    rows = evidence.replicas.rows
    latest = max(rows, key=lambda row: row["captured_at"])["capture_group"]
    members = [row for row in rows if row["capture_group"] == latest]
    end = max(row["log_end_offset"] for row in members)
    written = {row["last_written_ms"] for row in members if row["log_end_offset"] == end}
    return ReportFacts(
        names=names,
        members=len(members),
        end_offset=end,
        relations={row["relation"]: row["pairs"] for row in evidence.relations.rows},
        losses=evidence.losses,
        partings=tuple(partings),
        snapshots={row["verdict"]: row["snapshots"] for row in evidence.snapshot_counts.rows},
        rules=rules,
        damage=evidence.damage.total,
        kinds=tuple(dict.fromkeys(row["kind"] for row in evidence.damage.rows)),
        unbuilt=evidence.unbuilt.total,
        rounds=rounds,
        end_written_ms=max(written - {None}, default=None),
        known_to=max((row["to_offset"] for row in evidence.known_ranges), default=None),
        judged=evidence.judged,
    )


def _rules(figure: Figure) -> tuple[RuleView, ...]:
    """The rules in the order of the query: errors first."""
    by_rule: dict[str, list[Row]] = defaultdict(list)
    for row in figure.rows:
        by_rule[row["rule"]].append(row)
    return tuple(
        RuleView(
            name,
            rows[0]["severity"],
            rows[0]["findings"],
            rows[0]["now"],
            RULES_BY_ID.get(name),
            tuple(rows),
        )
        for name, rows in by_rule.items()
    )


def _parting_views(evidence: Evidence, names: Names, identity: str) -> Iterable[PartingView]:
    leaders = {
        row["epoch"]: row["leader_id"]
        for row in evidence.leaders.rows
        if row["leader_id"] is not None
    }
    for number, decoded in enumerate(evidence.decoded, start=1):
        parting = decoded.parting
        rows = branch_rows(decoded.records.rows, decoded.speakers)
        ends = [branch.end_offset for branch in parting.branches if branch.end_offset]
        last = rows[-1].offset if rows else parting.offset - 1
        yield PartingView(
            decoded,
            fork.draw(f"{identity}-fork{number}", parting, names, leaders),
            rows,
            max([0, *(end - 1 - last for end in ends)]),
        )


def _truncated(evidence: Evidence) -> Iterable[TruncatedView]:
    for place, figure in evidence.truncated.items():
        row = evidence.truncations.rows[place]
        records = plain_rows(figure.rows)
        yield TruncatedView(row, records, max(row["records"] - len(records), 0), figure.sql)


def parting_title(parting: Parting, names: Names) -> str:
    """A title such as: Offset 750: nodes 1, 3 and 12 against nodes 2 and 11."""
    sides = [names.nodes(branch.replicas, limit=5) for branch in parting.branches]
    return f"Offset {parting.offset}: {' against '.join(sides)}"
