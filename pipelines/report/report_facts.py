"""The facts about a cluster of which the report makes its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.report.divergences import Parting
from pipelines.report.losses import LostRecordCount
from pipelines.report.rounds import NO_ROUNDS, Rounds
from pipelines.report.words import Names
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.catalogue.groups import CONFLICT, VOTER_BEHIND
from replica.doctor.check.rule import Family
from replica.doctor.verdict.facts import LOSING
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact, Gap, Level, Verdict
from replica.severity import Severity

_PUT_BACK = OLD_DISKS - {VOTER_BEHIND.id}


@dataclass(frozen=True)
class RuleCount:
    """The number of findings of one rule."""

    id: str
    """The rule's id."""
    severity: str
    findings: int
    """The number of findings in all captures."""
    now: int
    """The number of findings in the newest capture of each replica."""


@dataclass(frozen=True)
class ReportFacts:
    """The facts by which the rules make the verdict."""

    names: Names
    members: int
    """The number of replicas in the newest capture group."""
    end_offset: int
    """The largest log end offset of the replicas in the newest capture group, exclusive."""
    relations: Mapping[str, int]
    """The number of pairs of replicas in the newest capture group, by the relation of the two
    logs."""
    losses: tuple[LostRecordCount, ...]
    partings: tuple[Parting, ...]
    """The divergences that any capture shows."""
    snapshots: Mapping[str, int]
    """The number of snapshots, by their verdict (gold.snapshot_validity)."""
    rules: tuple[RuleCount, ...]
    damage: int
    """The number of damaged places."""
    kinds: tuple[str, ...]
    """The kinds of the damage."""
    unbuilt: int
    """The number of captures that came in after the last build."""
    rounds: Rounds = NO_ROUNDS
    end_written_ms: int | None = None
    """The largest time of a record in the logs of the newest capture group, in ms since 1970; None
    if no table has it."""
    known_to: int | None = None
    """The last end offset (exclusive) at which the metadata state is known; None where no table has
    it."""
    judged: Verdict | None = None
    """The verdict of check on the newest captures; None where the lake has none."""

    @property
    def now(self) -> tuple[Fact, ...]:
        """The facts of check's verdict, the worst first."""
        return () if self.judged is None else self.judged.facts

    @property
    def not_judged(self) -> tuple[Gap, ...]:
        """What can't be judged by the newest captures."""
        return () if self.judged is None else self.judged.not_judged

    @property
    def told_now(self) -> frozenset[str]:
        """The rules whose findings check's verdict describes."""
        return frozenset(rule for fact in self.now for rule in fact.rules)

    @property
    def has_two_histories(self) -> bool:
        """Whether logs of the newest captures conflict."""
        return CONFLICT.id in self.told_now or any(
            one.is_conflict and one.is_latest for one in self.partings
        )

    @property
    def lacks_records(self) -> bool:
        """Whether a finding of any capture is about a disk that lacks records that its node had."""
        found = {one.id for one in self.rules} | self.told_now
        return not OLD_DISKS.isdisjoint(found)

    @property
    def is_put_back(self) -> bool:
        """Whether the newest captures show a disk that lacks records that its node had, and the
        node was not only stopped."""
        return not _PUT_BACK.isdisjoint(self.told_now)

    @property
    def may_reassure(self) -> bool:
        """Whether the report may say what is in order. It may not beside an outage, a risk, logs
        that conflict, disks that lack records, records that are lost, or any other fault of a
        file: a reader who takes in only a part of the text must not be reassured by it."""
        return (
            not self.lacks_records
            and not any(one.is_conflict for one in self.partings)
            and not any(one.committed or one.unproven for one in self.losses)
            and not any(one.now and one.severity != Severity.INFO for one in self.rules)
            and all(map(_is_calm, self.now))
        )


def _is_calm(fact: Fact) -> bool:
    """Whether the fact is only about the cluster's state, and no data may be lost by it."""
    rules = [RULES_BY_ID[one] for one in fact.rules if one in RULES_BY_ID]
    return (
        fact.level not in (Level.OUTAGE, Level.AT_RISK)
        and len(rules) == len(fact.rules) > 0
        and all(one.family is Family.HEALTH and one not in LOSING for one in rules)
    )
