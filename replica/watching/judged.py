"""Judges the rules of health over the replayed state again and again as records arrive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from replica.check.catalogue.health import RULES
from replica.check.rule import Finding
from replica.health.cluster import Cluster
from replica.health.judging import judge_health
from replica.watching.committed import CommittedReplay

EVERY_S = 5.0
_SHARE = 20
"""Judgements take at most this share of the time (1 / 20): slow ones are made less often."""


@dataclass(frozen=True, slots=True)
class QuorumJudgement:
    """subjects: rule id -> for how many subjects the rule holds; for a rule about the whole cluster
    1 or 0. offset: of the judged state (exclusive). took_s: seconds that judging took. at_s: when
    it ended, in seconds of time.monotonic."""

    subjects: Mapping[str, int] = field(default_factory=dict)
    offset: int = 0
    took_s: float = 0.0
    at_s: float = 0.0


class HealthJudge:
    """newest: the last judgement, None before the first one."""

    def __init__(self, broker_defaults: Mapping[str, str]) -> None:
        """broker_defaults: from a broker's server.properties; empty where unknown."""
        self.newest: QuorumJudgement | None = None
        self._broker_defaults = broker_defaults
        self._judged: tuple[int, frozenset[int], bool] | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether enough time has passed since the last judgement."""
        last = self.newest
        return last is None or now_s >= last.at_s + max(EVERY_S, _SHARE * last.took_s)

    async def judge(self, committed: CommittedReplay, voters: frozenset[int]) -> None:
        """Judge the present state in a thread beside the loop. Where nothing has changed, only its
        time is updated.

        voters: the ids of the voters in force; empty where unknown.
        """
        seen = committed.state_changes, voters, committed.is_whole
        last = self.newest
        if last is not None and seen == self._judged and not committed.starts:
            self.newest = QuorumJudgement(
                last.subjects, committed.state_offset, last.took_s, time.monotonic()
            )
            return
        cluster = Cluster(
            committed.image(),
            end_offset=committed.state_offset,
            is_whole=committed.is_whole,
            voters=voters,
            broker_defaults=self._broker_defaults,
            starts=dict(committed.starts),
            now=committed.last_timestamp,
        )
        began = time.monotonic()
        findings = await asyncio.to_thread(judge_health, cluster)
        ended = time.monotonic()
        counts = dict.fromkeys((rule.id for rule in RULES), 0)
        counts.update((finding.rule.id, _count(finding)) for finding in findings)
        self.newest = QuorumJudgement(counts, cluster.end_offset, ended - began, ended)
        self._judged = seen


def _count(finding: Finding) -> int:
    return len(finding.subjects) or 1
