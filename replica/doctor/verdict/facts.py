"""Makes the verdict on a cluster from its evidence, by turning findings into facts. The evidence
may be a state without files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from os.path import basename
from typing import Any

from replica.doctor.check.catalogue import (
    RULES,
    files,
    groups,
    health,
    log,
    partition_folders,
    snapshots,
    startup,
)  # fmt: skip
from replica.doctor.check.rule import Finding, Rule, by_severity
from replica.doctor.health.absent import Absence, absent_brokers
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first
from replica.doctor.health.emptied import emptied_brokers
from replica.doctor.health.judging import judge_health
from replica.doctor.health.refusing import still_refusing
from replica.doctor.health.returning import returning
from replica.doctor.health.set_aside import SetAside
from replica.doctor.health.startable import releases_text
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding, well_text
from replica.doctor.verdict.losses import LOSS_RULES, loss_facts, with_copies
from replica.doctor.verdict.lost_directories import beside_emptied, new_directory_texts
from replica.doctor.verdict.margin import QuorumMargin, majority_facts
from replica.doctor.verdict.old_disks import OLD_DISKS, old_disks_text
from replica.doctor.verdict.outage import OUTAGE_RULES, absent_text, outage_facts, topics_text
from replica.doctor.verdict.two_histories import kept_apart, of_one_history, with_evidence
from replica.doctor.verdict.unsupported import (
    unsupported_texts,
    with_releases,
    with_unsupported,
)
from replica.doctor.verdict.verdict import (
    OF_OTHER_CLUSTERS,
    Fact,
    Gap,
    KnownState,
    Level,
    MissingVoters,
    Verdict,
    decide,
)
from replica.doctor.verdict.without_winner import beside_elections
from replica.severity import Severity
from replica.words import counted, listed, sentence, shortened

AT_RISK = frozenset(
    {
        groups.CONFLICT.id, groups.COMMITTED_DATA_AT_RISK.id, groups.TWO_LEADERS.id,
        groups.DUPLICATE_IDENTITY.id, groups.STALE_VOTER.id, groups.VOTER_DISK_EMPTY.id,
        groups.REPLICA_WENT_BACK.id, groups.LEADER_LACKS_OWN_RECORDS.id,
        groups.DISK_OF_ANOTHER_CLUSTER.id,
        groups.VOTER_WITHOUT_OWN_DISK.id,
        partition_folders.STRAY_PARTITION.id, partition_folders.REPLICA_WITHOUT_FOLDER.id,
        startup.CONFIGURED_VOTERS_DIFFER.id, health.LEADER_IN_NEW_DIRECTORY.id,
    }
)  # fmt: skip
"""The rules whose findings mean that a start of the nodes may lose committed data."""
_CAUSES = frozenset({groups.VOTER_SETS_DIFFER.id, groups.INITIAL_VOTERS_DIFFER.id})
"""The rules that find why a cluster has two histories. Their facts come before the facts of
AT_RISK, which name the effects."""
_LEADS_WITHOUT = (
    "A voter with such a log may lead with wrong records, or help to elect a leader that lacks "
    "committed records."
)
"""The danger of a damaged log: a starting Kafka cuts it off at its damage, or doesn't see it."""
_ORDER = {rule.id: place for place, rule in enumerate(RULES)}
SAID_BY_MESSAGE = frozenset(OF_OTHER_CLUSTERS) - {groups.CLUSTER_ID_MISMATCH.id}
"""The rules whose findings need no more words than their message."""
_SHOWN = 3
LOSING = (health.LEADER_IN_NEW_DIRECTORY, health.UNCLEAN_LEADER, health.RETENTION_SHORTENED)
_STANDING = (health.REPLICA_COUNTS_DIFFER, health.ONE_RACK)
_KINDS = ("node", "nodes", "broker", "controller", "voter", "topic")
_VOTER_DOWN = (
    "is down, or about to be: its node is a broker too, and this broker is fenced, or shutting "
    "down.",
    "are down, or about to be: their nodes are brokers too, and these are fenced, or shutting "
    "down.",
)
"""The texts about one voter on a fenced broker, and about several."""
_BY_MESSAGE = (
    health.MIGRATION_WAITS.id, health.MIGRATION_RUNS.id, health.ZK_BROKER_LEFT.id,
    partition_folders.REPLICA_WITHOUT_FOLDER.id, health.RETENTION_SHORTENED.id,
)  # fmt: skip
"""The rules whose facts show the finding's message, because its subjects say less. The subjects of
a migration lack brokers that never registered; those of missing folders are partitions only."""
_HAPPENED = {
    groups.CONFLICT.id: "two histories under one cluster id",
    groups.TWO_LEADERS.id: "two leaders of one epoch",
    groups.VOTER_SETS_DIFFER.id: "two voter sets in one cluster, so there may be two quorums",
    groups.METADATA_LOG_TWICE.id: "two metadata logs of one node, which Kafka refuses to start",
}
"""The event that a finding of a rule shows. A fact with evidence names this event; the rule's
meaning only defines the condition."""
_TOLD = AT_RISK | _HAPPENED.keys() | {files.ELECTIONS_WITHOUT_WINNER.id}


@dataclass(frozen=True, slots=True)
class VerdictDraft:
    """A verdict to which findings about files may be added, because not all are known yet."""

    cluster_id: str | None
    felt: tuple[Fact, ...]
    """The facts about outages, about records that logs lose, and about the voters' majority. No
    finding about files changes them, and they stand before those about files."""
    findings: tuple[PlacedFinding, ...]
    """The known findings about files."""
    of_health: tuple[Fact, ...]
    """The other facts about the cluster's state, which no finding about files changes."""
    margin: QuorumMargin
    mentioned: frozenset[str]
    """The ids of the rules whose findings are in other facts already."""
    missing: MissingVoters | None
    """The voters without a given directory; None if there are none, or if no voter is known."""
    gaps: tuple[Gap, ...]
    """The gaps other than missing voters."""
    notes: int
    """The number of findings that need no action."""
    well: str
    """The headline where nothing is wrong."""
    state: KnownState | None
    """The newest known state; None if no state is known."""
    set_aside: tuple[SetAside, ...]
    put_back: str
    """The value of ClusterEvidence.put_back."""

    def verdict(self, more: Iterable[PlacedFinding] = ()) -> Verdict:
        """The verdict. more: further findings about files, none of a rule in OUTAGE_RULES."""
        findings = (*self.findings, *(added := tuple(more)))
        found = _of_files(findings, self.mentioned, self.margin.voters)
        of_files = with_evidence(found, self.set_aside, self.put_back)
        return decide(
            self.cluster_id,
            self.margin.added_to((*self.felt, *of_files, *self.of_health), findings),
            _all_gaps(self.missing, self.gaps, findings),
            well=self.well,
            notes=self.notes + _notes(one.finding for one in added),
            state=self.state,
        )


def verdict_on(evidence: ClusterEvidence) -> Verdict:
    """The verdict on one cluster by its evidence."""
    return draft_on(evidence).verdict()


def draft_on(evidence: ClusterEvidence) -> VerdictDraft:
    """The verdict on one cluster, before further findings are added to it."""
    health_found = evidence.health or ()
    everything = [*(one.finding for one in evidence.findings), *health_found]
    outages = with_unsupported(outage_facts(evidence), health_found)
    by_state = [*with_releases(with_copies((*outages,), evidence), evidence)]
    outage = [*by_state, *loss_facts(evidence.to_lose)]
    mentioned = {rule for fact in outage for rule in fact.rules} | set(OUTAGE_RULES)
    mentioned |= set(LOSS_RULES) if evidence.to_lose else set()
    of_health = (*with_releases(_of_health(health_found, mentioned, evidence), evidence, by_state),)
    if any(fact.level is Level.OUTAGE for fact in by_state):
        of_health = (*map(_after_outage, of_health),)
    of_health = (*beside_elections(beside_emptied(of_health, evidence.emptied), by_state),)
    if evidence.has_two_histories:
        told = {fact: of_one_history(fact, evidence.state) for fact in (*by_state, *of_health)}
        outage = [told.get(fact, kept_apart(fact)) for fact in outage]
        of_health = tuple(told[fact] for fact in of_health)
    return VerdictDraft(
        evidence.cluster_id,
        (*outage, *majority_facts(evidence)),
        evidence.findings,
        of_health,
        QuorumMargin.of(evidence),
        frozenset(mentioned),
        evidence.missing,
        (*evidence.gaps, *_gaps(everything)),
        _notes(everything),
        well_text(evidence),
        evidence.state,
        evidence.set_aside,
        evidence.put_back,
    )


def _after_outage(fact: Fact) -> Fact:
    """A fact beside an outage. A step about the placement of replicas waits until the outage is
    over, because moving replicas doesn't end an outage."""
    if not fact.next_step or not {rule.id for rule in _STANDING}.issuperset(fact.rules):
        return fact
    return replace(fact, next_step=f"Once the outage is over: {fact.next_step}")


def _all_gaps(
    missing: MissingVoters | None, gaps: Iterable[Gap], findings: Iterable[PlacedFinding]
) -> Iterator[Gap]:
    """The gaps. If the nodes of a quorum were formatted with several cluster ids, all nodes are
    given: then no voter is missing, and the other gaps have no next step."""
    rules = {one.finding.rule.id for one in findings}
    is_apart = groups.CLUSTER_IDS_DIFFER.id in rules
    if missing is not None and not is_apart:
        yield from missing.gaps(is_mixed=not rules.isdisjoint(OF_OTHER_CLUSTERS))
    yield from (replace(gap, next_step="") if is_apart else gap for gap in gaps)


def _notes(findings: Iterable[Finding]) -> int:
    return sum(one.severity is Severity.INFO for one in findings)


def _of_files(
    findings: Sequence[PlacedFinding], mentioned: Collection[str], voters: Collection[str]
) -> Iterator[Fact]:
    urgent = [
        one
        for one in findings
        if one.finding.severity is not Severity.INFO and one.finding.rule.id not in mentioned
    ]
    if any(one.finding.rule is groups.METADATA_LOG_TWICE for one in urgent):
        # one of the two logs is no voter's, which is what follows from it
        urgent = [one for one in urgent if one.finding.rule is not files.VOTER_DIRECTORY_ID]
    conflicts = any(one.finding.rule is groups.CONFLICT for one in urgent)
    causes = _CAUSES if conflicts else frozenset()
    urgent.sort(key=lambda one: _place_of(one.finding.rule, causes))
    for rule, group in groupby(urgent, key=lambda one: one.finding.rule):
        found = list(group)
        if rule.id in SAID_BY_MESSAGE:
            yield from _of_disks(rule, found)
            continue
        if rule is groups.CONFLICT:  # the nodes of one side, against whom the message names
            same = (one for one in found if one.finding.message == found[0].finding.message)
            found = sorted(same, key=lambda one: (len(one.where), one.where))
        where = list(dict.fromkeys(one.where for one in found))
        # a fact about possible data loss names its evidence, such as the other log of a conflict
        is_cause = rule.id in causes
        is_told = is_cause or rule.id in _TOLD
        evidence = found[0].finding.message if is_told else _place_of_damage(found[0].finding)
        limit = None if rule is groups.CONFLICT else _SHOWN
        fact = _of_place(rule, _places(where, limit), evidence)
        if rule.id in OLD_DISKS:
            messages = [one.finding.message for one in found[:_SHOWN]]
            fact = replace(fact, text=old_disks_text(rule.id, _begun(_places(where)), messages))
        damaged = [one for one in where if one.removeprefix("node ") in voters]
        if rule in log.DAMAGED and damaged:
            step = f"Keep {_places(damaged)} stopped. {fact.next_step}"
            text = f"{fact.text} {_LEADS_WITHOUT}"
            fact = replace(fact, level=Level.AT_RISK, text=text, next_step=step)
        yield replace(fact, level=Level.AT_RISK, severity=Severity.ERROR) if is_cause else fact


def _place_of_damage(finding: Finding) -> str:
    """Where the damage of a file begins, such as `offset 142, in 00000000000000000000.log at byte
    11830`; "" for a finding that isn't about damage, or whose place in the file isn't known."""
    if finding.severity is not Severity.ERROR or finding.position is None:
        return ""
    offset = "" if finding.offset is None else f"offset {finding.offset}, "
    # a lake knows the path by which the file was read, and the text is the same for both
    return f"{offset}in {basename(finding.file)} at byte {finding.position}"


def _place_of(rule: Rule, causes: Collection[str]) -> tuple[bool, int]:
    return rule.id not in causes, _ORDER.get(rule.id, len(_ORDER))


def _of_disks(rule: Rule, found: Iterable[PlacedFinding]) -> Iterator[Fact]:
    """A fact for each finding about disks of several clusters, which is the same in each of these
    clusters."""
    for where, finding in {one.finding.message: one for one in found}.values():
        step = rule.next_step
        if rule.id != groups.CLUSTER_IDS_DIFFER.id:
            is_absent = rule.id == groups.VOTER_WITHOUT_OWN_DISK.id
            nodes = [one.name for one in finding.subjects] if is_absent else []
            step = f"{_begun(next(iter(nodes), where))}: {step}"
        yield _fact(rule, sentence(finding.message), step)


def _of_health(
    findings: Sequence[Finding], mentioned: Collection[str], evidence: ClusterEvidence
) -> Iterator[Fact]:
    """The facts of these findings: those about lost records first, those about the placement of
    replicas last."""

    def place(finding: Finding) -> tuple[int, bool, bool, Any]:
        later, last = finding.rule not in LOSING, finding.rule in _STANDING
        return finding.severity.rank, later, last, by_severity(finding)

    for finding in sorted(findings, key=place):
        if finding.severity is Severity.INFO or finding.rule.id in mentioned:
            continue
        names = [shortened(subject.name) for subject in finding.subjects]
        if finding.rule is health.STATE_NOT_WHOLE:
            text = f"Not all records of the log could be read: {finding.message}."
            yield _fact(finding.rule, text, finding.rule.next_step)
        elif finding.rule is health.LEADER_IN_NEW_DIRECTORY:
            fact = _fact(finding.rule, *new_directory_texts(finding, evidence.emptied))
            yield replace(fact, severity=Severity.ERROR)  # its step comes before any copy or start
        elif finding.rule is health.LEVEL_NOT_SUPPORTED:
            yield _fact(finding.rule, *unsupported_texts(finding))
        elif finding.rule.id in _BY_MESSAGE:
            text = f"{finding.rule.meaning} Found: {finding.message}."
            yield _fact(finding.rule, text, finding.rule.next_step)
        elif names:
            yield _of_subjects(finding, names, evidence.absent)
        else:
            text = f"{_begun(finding.message)}: {finding.rule.meaning}"
            yield _fact(finding.rule, text, finding.rule.next_step)


def _of_subjects(finding: Finding, names: Sequence[str], absent: Mapping[int, Absence]) -> Fact:
    """The fact that a rule of health holds of brokers, voters, partitions and so on. Partitions are
    counted where not all can be named, since those that are named may be of one topic only."""
    rule, place = finding.rule, _begun(listed(names, limit=_SHOWN))
    if len(names) > _SHOWN and finding.message.endswith(" partitions"):
        place = f"{finding.message} ({topics_text(one.name for one in finding.subjects)})"
    text = f"{place}: {rule.meaning}"
    if rule is health.VOTER_ON_FENCED_BROKER:
        text = f"{place} {_VOTER_DOWN[len(names) > 1]}"
    elif rule is health.FENCED_BROKER:
        text = absent_text(finding, absent)
    return _fact(rule, text, f"{place}: {rule.next_step}")


def _of_place(rule: Rule, where: str, evidence: str) -> Fact:
    """The fact that a rule applies to nodes or files. Its next step also names them, because a list
    of steps may show it alone. evidence: what was found, if the rule's meaning isn't enough."""
    place = _begun(where)
    happened = _HAPPENED.get(rule.id)
    if happened is not None and evidence:
        text = f"{place}: {happened}: {evidence}."
    else:
        text = f"{place}: {rule.meaning}" + (f" Found: {evidence}." if evidence else "")
    if rule is groups.CONFLICT:  # a start of any other node may lose records, too
        return _fact(rule, text, rule.next_step)
    return _fact(rule, text, f"{place}: {rule.next_step}")


def _fact(rule: Rule, text: str, next_step: str) -> Fact:
    level = Level.AT_RISK if rule.id in AT_RISK else Level.ATTENTION
    return Fact(level, rule.severity, text, next_step, (rule.id,))


def _begun(where: str) -> str:
    """The text with a capital letter, unless it begins with a name, such as a topic's name or a
    path."""
    return f"{where[0].upper()}{where[1:]}" if where.partition(" ")[0] in _KINDS else where


def _places(where: Sequence[str], limit: int | None = _SHOWN) -> str:
    """A text such as `nodes 2 and 3`; paths if the nodes aren't known. limit: see listed."""
    ids = [one.removeprefix("node ") for one in where]
    if len(where) > 1 and all(one.startswith("node ") for one in where):
        return f"nodes {listed(ids, limit=limit)}"
    return listed(where, limit=limit)


def _gaps(findings: Sequence[Finding]) -> Iterator[Gap]:
    """The gaps that findings show: snapshots that could not be compared with a log, and partitions
    whose min.insync.replicas is unknown."""
    unverified = sum(one.rule.id == snapshots.SNAPSHOT_UNVERIFIED.id for one in findings)
    if unverified:
        yield Gap(
            f"the content of {counted(unverified, 'snapshot')}",
            "no log or older snapshot was given to compare it with",
            "Add the directories of the other nodes.",
        )
    if any(one.rule.id == health.MIN_ISR_UNKNOWN.id for one in findings):
        more = "more " * any(one.rule.id == health.BELOW_MIN_ISR.id for one in findings)
        yield Gap(
            f"whether {more}partitions refuse writes",
            "the log doesn't hold their min.insync.replicas",
            health.MIN_ISR_UNKNOWN.next_step,
        )


def verdict_on_state(cluster: Cluster, *gaps: Gap) -> Verdict:
    """The verdict on a cluster by its health. gaps: what else could not be judged."""
    return verdict_on(
        ClusterEvidence(
            cluster.cluster_id,
            health=(*judge_health(cluster),),
            partitions=len(cluster.partitions),
            returning=returning(cluster),
            still_refusing=still_refusing(cluster),
            copy_first=copies_first(cluster),
            emptied=emptied_brokers(cluster),
            absent=absent_brokers(cluster),
            releases=releases_text(cluster),
            state=KnownState(cluster.end_offset, cluster.now),
            gaps=gaps,
        )
    )
