"""Compares each state of a recording with the previous state, and makes the notices for the
operator. Everything here depends only on the states and times that callers give."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.epochs import OffsetAndEpoch
from replica.node.notice import Fields, Notice
from replica.raft.raft import Raft
from replica.raft.roles import Follower

EVERY_S = 10.0
"""The time (s) after which a notice that the recording lags or has no leader is repeated."""


@dataclass(frozen=True, slots=True)
class RecordingState:
    """A recording at one moment."""

    has_leader: bool
    leader_watermark: int | None
    """The high watermark (exclusive) that the leader has named in this epoch; None if the leader
    has named none."""
    log_start: int
    """The log start offset (inclusive)."""
    log_end: int
    """The log end offset (exclusive)."""
    flushed_end: int
    """The offset up to which the log is flushed (exclusive)."""
    starts_at: OffsetAndEpoch | None = None
    """The newest snapshot, if the log starts at the snapshot's end; else None."""
    fetching: OffsetAndEpoch | None = None
    """The snapshot that is being fetched; None if no snapshot is being fetched."""

    @property
    def lag(self) -> int | None:
        """The number of committed records that the recording lacks. None while the leader's high
        watermark is unknown."""
        known = self.leader_watermark
        return None if known is None else max(0, known - self.log_end)


def state_of(raft: Raft) -> RecordingState:
    """The state of the recording now."""
    role, log = raft.role, raft.log
    newest = log.latest_snapshot
    starts_at = newest if newest is not None and newest.offset == log.log_start else None
    ends = log.log_start, log.log_end, log.flushed_end
    if not isinstance(role, Follower):
        return RecordingState(False, None, *ends, starts_at)
    fetching = None if role.fetching is None else role.fetching.snapshot_id
    return RecordingState(True, role.leader_watermark, *ends, starts_at, fetching)


class RecordingProgress:
    """Remembers which notices the operator has got. Callers give the states in the order of time.
    first: the state before anything was fetched."""

    def __init__(self, first: RecordingState) -> None:
        self.is_caught_up = False
        """Whether the log has reached the leader's high watermark, and no notice since then has
        said that the log lags."""
        self.target: int | None = None
        """The first high watermark (exclusive) that a leader named; None until a leader names
        one."""
        self._before = first
        self._is_new = first.log_end == 0
        self._told_at: float | None = None

    def notices(self, now: RecordingState, at_s: float) -> list[Notice]:
        """The notices about changes since the last state. at_s: the time in seconds of any clock
        that doesn't go back."""
        before, self._before = self._before, now
        found = []
        if now.fetching not in (None, before.fetching):
            snapshot = _text(now.fetching)
            text = f"fetching snapshot {snapshot}"
            found.append(Notice("fetching-snapshot", text, {"snapshot": snapshot}))
        if now.starts_at not in (None, before.starts_at):
            snapshot = _text(now.starts_at)
            text = f"starting from snapshot {snapshot}"
            found.append(Notice("starting", text, {"snapshot": snapshot, "offset": now.log_start}))
        if self.target is None and now.leader_watermark is not None:
            found += self._started(now)
        return found + self._pace(now, at_s)

    def has_reached_target(self, now: RecordingState) -> bool:
        """Whether every record below `target` is flushed to the disk. `target` is the first high
        watermark that a leader has named; before that, the result is False."""
        return self.target is not None and now.flushed_end >= self.target

    def _started(self, now: RecordingState) -> list[Notice]:
        self.target = now.leader_watermark
        if not self._is_new:
            text = f"going on at offset {now.log_end}"
        elif now.log_start == 0:
            text = "starting from offset 0: the leader has no snapshot"
        else:
            return []
        return [Notice("starting", text, {"offset": now.log_end})]

    def _pace(self, now: RecordingState, at_s: float) -> list[Notice]:
        facts: Fields = {"offset": now.log_end}
        if now.lag == 0:
            is_news, self.is_caught_up, self._told_at = not self.is_caught_up, True, at_s
            text = f"caught up at offset {now.log_end}"
            return [Notice("caught-up", text, facts)] if is_news else []
        if self._told_at is None:
            self._told_at = at_s
        if at_s - self._told_at < EVERY_S:
            return []
        self.is_caught_up, self._told_at = False, at_s
        if now.lag is None:
            who = "the leader has told no high watermark" if now.has_leader else "no leader found"
            return [Notice("waiting", f"at offset {now.log_end}; {who} yet", facts)]
        text = f"at offset {now.log_end}, {now.lag} behind the high watermark"
        return [Notice("behind", text, {**facts, "lag": now.lag})]


def _text(snapshot_id: OffsetAndEpoch | None) -> str:
    return "" if snapshot_id is None else f"{snapshot_id.offset}-{snapshot_id.epoch}"
