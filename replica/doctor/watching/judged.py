"""Judges the rules of health over the replayed state repeatedly, as records arrive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from replica.doctor.check.catalogue import HEALTH_RULES
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.judging import judge_health
from replica.doctor.watching.committed import CommittedReplay

EVERY_S = 5.0
_SHARE = 20
"""After a judgement of 1 s, no judgement starts for at least this many seconds. So judgements take
at most 1/20 of the time."""


@dataclass(frozen=True, slots=True)
class QuorumJudgement:
    """The outcome of the rules of health."""

    subjects: Mapping[str, int] = field(default_factory=dict)
    """For each rule, by its id, the number of subjects with a finding; 1 or 0 for a rule about the
    whole cluster."""
    offset: int = 0
    """The end of the judged part of the log (exclusive)."""
    took_s: float = 0.0
    """The duration of the judgement, in seconds."""
    at_s: float = 0.0
    """The end of the judgement, in seconds of time.monotonic."""


class HealthJudge:
    """Judges the health of a quorum repeatedly. newest: the last judgement; None before the first
    judgement."""

    def __init__(self, broker_defaults: Mapping[str, str]) -> None:
        """broker_defaults: the settings in a broker's server.properties; empty where they are
        unknown."""
        self.newest: QuorumJudgement | None = None
        self._broker_defaults = broker_defaults
        self._judged: tuple[int, frozenset[int], bool] | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether enough time has passed since the last judgement."""
        last = self.newest
        return last is None or now_s >= last.at_s + max(EVERY_S, _SHARE * last.took_s)

    async def judge(self, committed: CommittedReplay, voters: frozenset[int]) -> None:
        """Judge the present state in a thread beside the event loop. If nothing has changed, only
        the time of the last judgement is updated.

        voters: the ids of the voters in force; empty where they are unknown.
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
        counts = dict.fromkeys((rule.id for rule in HEALTH_RULES), 0)
        counts.update((each.rule.id, len(each.subjects) or 1) for each in findings)
        self.newest = QuorumJudgement(counts, cluster.end_offset, ended - began, ended)
        self._judged = seen
