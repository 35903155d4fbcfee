"""Whether a replica works, and whether its quorum does: the facts behind /healthz and /readyz.

A restart of the process can cure the replica, not the quorum. /healthz fails for what a restart may
cure. /readyz fails for whatever keeps this replica from showing what the quorum commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WEDGED_AFTER_S = 10.0
"""An election takes a few seconds, and a fetch half a second. What lasts longer than this is
reported."""


class Wedge(StrEnum):
    """What keeps records from being committed, or from being seen at this replica. The values are
    labels of the metric kraftlake_wedged."""

    NO_LEADER = "no-leader"
    """No leader has answered any node that this replica hears of."""
    NOT_FETCHING = "not-fetching"
    """The quorum has a leader, but the leader doesn't answer this replica's fetches."""
    HIGH_WATERMARK_STALLED = "high-watermark-stalled"
    """The log holds records above the high watermark, but the high watermark doesn't move."""


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    """The replica at one moment. leads: this replica is the leader. answered_at, described_at: see
    Heard. high_watermark: exclusive, None while unknown. log_end: exclusive. caught_up: the log
    reaches the high watermark that the leader tells."""

    leads: bool
    answered_at: float | None
    described_at: float | None
    high_watermark: int | None
    log_end: int
    caught_up: bool = False


class Readiness:
    """Judges looks, which come in the order of time. began_at: when the replica was started, in
    seconds of the same clock."""

    def __init__(self, began_at: float, wedged_after_s: float = WEDGED_AFTER_S) -> None:
        self._began_at = began_at
        self._wedged_after_s = wedged_after_s
        self._last = ReplicaSample(False, None, None, None, 0)
        self._last_at = began_at
        self._stalled_since: float | None = None
        self._led_at: float | None = None
        self.has_caught_up = False
        """Whether the log has once reached the high watermark, so that it shows what is
        committed."""

    def take(self, look: ReplicaSample, at_s: float) -> None:
        """Note how the replica is now."""
        moved = look.high_watermark != self._last.high_watermark
        behind = look.log_end > (look.high_watermark or 0)
        if not behind:
            self._stalled_since = None
        elif moved or self._stalled_since is None:
            self._stalled_since = at_s
        if look.leads:
            self._led_at = at_s
        self.has_caught_up = self.has_caught_up or look.caught_up
        self._last, self._last_at = look, at_s

    def wedges(self) -> Mapping[Wedge, float]:
        """What was wedged at the last look, and for how many seconds."""
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
        """Whether the log shows what the quorum commits."""
        return self.has_caught_up and not self.wedges()

    @property
    def is_healthy(self) -> bool:
        """False where a restart of this process may help: the leader answers other nodes, not this
        one."""
        return Wedge.NOT_FETCHING not in self.wedges()

    def lines(self) -> list[str]:
        """A line for each fault, for people."""
        told = [f"{wedge}: for {seconds:.0f} s" for wedge, seconds in self.wedges().items()]
        if not self.has_caught_up:
            told.append("catching-up: the log has not reached the high watermark yet")
        return told
