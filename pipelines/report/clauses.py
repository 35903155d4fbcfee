"""The clauses of the report: what the logs and files of a cluster's replicas show."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.report.clause import Clause
from pipelines.report.loss_clauses import happened_to_logs
from pipelines.report.report_facts import ReportFacts, RuleCount
from replica.doctor.check.catalogue.log import NOT_KNOWN
from replica.doctor.verdict.facts import AT_RISK
from replica.doctor.verdict.verdict import Level
from replica.metadata.records import NEWEST_KAFKA
from replica.words import counted, listed, ms_text

_ABOUT_LOGS = frozenset({"log-divergence", "conflict", "committed-data-at-risk"})
_NOT_ALIKE = frozenset({"diverged", "conflict"})


def clauses_of(facts: ReportFacts) -> tuple[Clause, ...]:
    """The clauses. They begin with what happened to the logs or, where nothing happened, with the
    logs as they are now."""
    happened = (*happened_to_logs(facts),)
    now = (*_now(facts),)
    logs = (happened, now) if facts.losses or len(happened) > 1 else (now, happened)
    return (
        *logs[0],
        *_snapshots(facts),
        *_damage(facts),
        *_not_known(facts),
        *_rules(facts),
        *logs[1],
        *_unbuilt(facts.unbuilt),
    )


def _snapshots(facts: ReportFacts) -> Iterator[Clause]:
    counts = facts.snapshots
    total = sum(counts.values())
    invalid, unverifiable = counts.get("invalid", 0), counts.get("unverifiable", 0)
    if not total and facts.may_reassure:
        yield Clause(Level.HEALTHY, "there are no snapshots")
    if invalid:
        verb = "is" if invalid == 1 else "are"
        yield Clause(Level.ATTENTION, f"{invalid} of {counted(total, 'snapshot')} {verb} invalid")
    if unverifiable:
        told = f"{unverifiable} of {counted(total, 'snapshot')} can't be verified"
        yield Clause(Level.INCOMPLETE, told)
    if total and not invalid and not unverifiable and facts.may_reassure:
        valid = "the only snapshot is valid" if total == 1 else f"all {total} snapshots are valid"
        yield Clause(Level.HEALTHY, valid)


def _damage(facts: ReportFacts) -> Iterator[Clause]:
    if facts.damage:
        # the findings tell how bad the damage is: a torn tail, for example, Kafka itself cuts off
        kinds = listed(facts.kinds, limit=3)
        yield Clause(Level.HEALTHY, f"{counted(facts.damage, 'place')} could not be read ({kinds})")


def _not_known(facts: ReportFacts) -> Iterator[Clause]:
    """A clause where the known state ends at the first record that this release doesn't know."""
    is_newer = any(one.id in NOT_KNOWN and one.now for one in facts.rules)
    if is_newer and facts.known_to is not None and facts.known_to < facts.end_offset:
        yield Clause(
            Level.ATTENTION,
            f"the metadata state from offset {facts.known_to} on is not known to this release, "
            f"which reads up to Kafka {NEWEST_KAFKA}: the log holds newer records",
        )


def _rules(facts: ReportFacts) -> Iterator[Clause]:
    """The findings that neither another clause nor check's verdict describes."""
    others = [one for one in facts.rules if one.id not in _ABOUT_LOGS]
    for severity in ("error", "warning"):
        found = [one for one in others if one.severity == severity and one.now]
        now = [one for one in found if one.id not in facts.told_now]
        if now:
            count = counted(sum(one.now for one in now), severity)
            level = Level.AT_RISK if any(one.id in AT_RISK for one in now) else Level.ATTENTION
            yield Clause(level, f"{count} in the newest captures ({_named(now)})")
        before = [one for one in others if one.severity == severity and not one.now]
        if before:
            count = counted(sum(one.findings for one in before), severity)
            yield Clause(
                Level.ATTENTION if severity == "error" else Level.RECOVERED,
                f"{count} in earlier captures only ({_named(before)})",
            )


def _named(rules: list[RuleCount]) -> str:
    return listed([one.id for one in rules], limit=3)


def _now(facts: ReportFacts) -> Iterator[Clause]:
    pairs, newest = facts.relations, "in the newest captures"
    written = facts.end_written_ms
    at = "" if written is None else f", written {ms_text(written)}"
    logs = f"the metadata logs of all {counted(facts.members, 'node')}"
    if not pairs:
        alone = f"{newest} there is one node, and nothing to compare its metadata log with"
        yield Clause(Level.HEALTHY, alone)
    elif not _NOT_ALIKE.isdisjoint(pairs) and not _ABOUT_LOGS.isdisjoint(facts.told_now):
        return  # check's verdict says it
    elif not _NOT_ALIKE.isdisjoint(pairs):
        yield Clause(Level.ATTENTION, f"{newest} the metadata logs of the nodes don't agree")
    elif "disjoint" in pairs:
        apart = counted(pairs["disjoint"], "pair")
        have = "have" if pairs["disjoint"] == 1 else "each have"
        yield Clause(
            Level.ATTENTION,
            f"{newest} the metadata logs of {apart} of nodes {have} no offset in common",
        )
    elif not facts.may_reassure:
        return
    elif "prefix" in pairs:
        to = f"(to offset {facts.end_offset - 1}{at})"
        yield Clause(Level.HEALTHY, f"{newest} {logs} agree as far as each has come {to}")
    else:
        last = facts.end_offset - 1
        yield Clause(Level.HEALTHY, f"{newest} {logs} are the same up to offset {last}{at}")


def _unbuilt(captures: int) -> Iterator[Clause]:
    if captures:
        what = f"{counted(captures, 'capture')} {'is' if captures == 1 else 'are'}"
        yield Clause(Level.ATTENTION, f"{what} not in the tables yet: run `kraftlake build`")
