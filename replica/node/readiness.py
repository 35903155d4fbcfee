"""Judges whether a replica works, and whether its quorum works. /healthz and /readyz give the
outcome.

A restart of the process can repair the replica, but not the quorum. /healthz fails for faults that
a restart may repair. /readyz fails for every fault that keeps this replica from showing the
committed records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WEDGED_AFTER_S = 10.0
"""The time (s) after which a fault is reported. An election takes a few seconds, and a fetch half a
second."""


class Wedge(StrEnum):
    """The faults that keep records from being committed, or keep this replica from getting them.
    The values are labels of the metric kraftlake_wedged."""

    NO_LEADER = "no-leader"
    """There is no sign of a leader: this replica doesn't lead, no leader answers it, and no other
    node names a leader."""
    NOT_FETCHING = "not-fetching"
    """The quorum has a leader, but the leader doesn't answer this replica's fetches."""
    HIGH_WATERMARK_STALLED = "high-watermark-stalled"
    """The log holds records above the high watermark, but the high watermark doesn't move."""


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    """The replica at one moment."""

    leads: bool
    """Whether this replica is the leader."""
    answered_at: float | None
    """The time (s) at which a leader last answered this replica; None before the first answer.
    Heard notes this time."""
    described_at: float | None
    """The time (s) at which another node last showed that there is a leader; None if no other node
    has shown this yet. Heard notes this time."""
    high_watermark: int | None
    """The high watermark (exclusive); None while the high watermark is unknown."""
    log_end: int
    """The log end offset (exclusive)."""
    caught_up: bool = False
    """Whether the log reaches the high watermark that the leader named."""


class Readiness:
    """Judges samples of the replica. Callers give them in the order of time.

    began_at: when the replica was started, in seconds of the samples' clock.
    wedged_after_s: the time after which a fault is reported.
    """

    def __init__(self, began_at: float, wedged_after_s: float = WEDGED_AFTER_S) -> None:
        self._began_at = began_at
        self._wedged_after_s = wedged_after_s
        self._last = ReplicaSample(False, None, None, None, 0)
        self._last_at = began_at
        self._stalled_since: float | None = None
        self._led_at: float | None = None
        self.has_caught_up = False
        """Whether the log has reached the high watermark since the start, so that it has all
        committed records."""

    def take(self, sample: ReplicaSample, at_s: float) -> None:
        """Note the state of the replica at `at_s`, a time in seconds that doesn't go back."""
        moved = sample.high_watermark != self._last.high_watermark
        behind = sample.log_end > (sample.high_watermark or 0)
        if not behind:
            self._stalled_since = None
        elif moved or self._stalled_since is None:
            self._stalled_since = at_s
        if sample.leads:
            self._led_at = at_s
        self.has_caught_up = self.has_caught_up or sample.caught_up
        self._last, self._last_at = sample, at_s

    def wedges(self) -> Mapping[Wedge, float]:
        """The faults at the last sample, each with the seconds for which it has lasted."""
        found: dict[Wedge, float] = {}
        answered = self._newest(self._last.answered_at, self._led_at)
        silent_s = self._last_at - answered
        described = self._newest(answered, self._last.described_at)
        if self._last_at - described >= self._wedged_after_s:
            found[Wedge.NO_LEADER] = self._last_at - described
        elif silent_s >= self._wedged_after_s:
            found[Wedge.NOT_FETCHING] = silent_s
        if self._stalled_since is not None:
            stalled_s = self._last_at - self._stalled_since
            if stalled_s >= self._wedged_after_s:
                found[Wedge.HIGH_WATERMARK_STALLED] = stalled_s
        return found

    def _newest(self, *times: float | None) -> float:
        return max([self._began_at, *(time for time in times if time is not None)])

    @property
    def is_ready(self) -> bool:
        """Whether the log has reached the high watermark since the start, and the last sample shows
        no fault."""
        return self.has_caught_up and not self.wedges()

    @property
    def is_healthy(self) -> bool:
        """False if a restart of this process may help, because the leader answers other nodes but
        not this node."""
        return Wedge.NOT_FETCHING not in self.wedges()

    def lines(self) -> list[str]:
        """Lines for people: one for each fault, and one until the log has reached the high
        watermark."""
        told = [f"{wedge}: for {seconds:.0f} s" for wedge, seconds in self.wedges().items()]
        if not self.has_caught_up:
            told.append("catching-up: the log has not reached the high watermark yet")
        return told
