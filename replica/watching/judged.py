"""The rules of health over the replayed state, judged again as the records come in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from replica.check.catalogue.health import RULES
from replica.check.rule import Finding
from replica.health.cluster import Cluster
from replica.health.judging import judge_health
from replica.watching.committed import Committed

EVERY_S = 5.0
_SHARE = 20
"""A judgement that takes long is made no more often than takes a twentieth of the time."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """subjects: by the id of each rule, how many things it holds for, 1 where it holds for the
    cluster as a whole, 0 where it doesn't hold. offset: of the state (exclusive). took_s: how long
    judging took; at_s: when it ended, in seconds of time.monotonic."""

    subjects: Mapping[str, int] = field(default_factory=dict)
    offset: int = 0
    took_s: float = 0.0
    at_s: float = 0.0


class Judged:
    """newest: the last judgement, None before the first one."""

    def __init__(self, broker_defaults: Mapping[str, str]) -> None:
        """broker_defaults: of a broker's server.properties, empty where they aren't known."""
        self.newest: Judgement | None = None
        self._broker_defaults = broker_defaults
        self._judged: tuple[int, frozenset[int], bool] | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether enough time has passed since the last judgement."""
        last = self.newest
        return last is None or now_s >= last.at_s + max(EVERY_S, _SHARE * last.took_s)

    async def judge(self, committed: Committed, voters: frozenset[int]) -> None:
        """Judge the state as it is, beside the loop; where nothing has changed, only say so.

        voters: the ids of those in force, empty where nobody knows them.
        """
        seen = committed.state_changes, voters, committed.is_whole
        last = self.newest
        if last is not None and seen == self._judged and not committed.starts:
            self.newest = Judgement(
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
        self.newest = Judgement(counts, cluster.end_offset, ended - began, ended)
        self._judged = seen


def _count(finding: Finding) -> int:
    return len(finding.subjects) or 1
