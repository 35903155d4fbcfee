"""Rows about replicas, their epochs, and who led when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.cli.directories.reported.given import Capture, GivenCluster, figure, time_of
from pipelines.report.queries import MAX_CAPTURES
from pipelines.report.source import Figure, Row
from replica.doctor.check.examined import LeaderChangeBatch
from replica.doctor.timeline.branch import Branch
from replica.format.segment import numbers_of
from replica.history.log import LogBatch, ReplicaLog


def figures(given: GivenCluster) -> dict[str, Figure]:
    """Fields of Evidence: about captures and epochs."""
    known = KnownLeaders(given)
    everything = [*given.captures]
    started = [_captured(one) for _, one in everything]
    return {
        "rounds": figure([*_rounds(given)]),
        "replicas": figure([*_replicas(given)]),
        "never_started": figure([*_never_started(given)]),
        "captures": figure(started, MAX_CAPTURES),
        "unbuilt": figure(()),
        "epochs": figure([*_epochs(given, known)]),
        "leaders": figure([*known.rows()]),
    }


def _rounds(given: GivenCluster) -> Iterator[Row]:
    for one in given.rounds:
        last = (last_written(capture) for capture in one.captures)
        times = {capture.at for capture in one.captures}
        for at in sorted(times):
            yield {
                "cluster_id": given.cluster_id,
                "capture_group": one.group,
                "captured_at": at,
                "captures": len(one.captures),
                "has_own_time": one.has_own_time,
                "round_name": one.name,
                "newest_record_ms": max((ms for ms in last if ms is not None), default=None),
            }


def last_written(capture: Capture) -> int | None:
    """The time of the log's last batch, in ms since 1970 (UTC); None where there is no batch, or
    the batch has no time."""
    last = capture.examined.last_batch
    at = -1 if last is None else last.header.max_timestamp
    return None if at < 0 else at


def _captured(capture: Capture) -> dict[str, Any]:
    return {
        **capture.row,
        "captured_at": capture.at,
        "source": capture.examined.shown,
        "log_start_offset": capture.log.log_start,
        "log_end_offset": capture.log.end_offset,
    }


def _replicas(given: GivenCluster) -> Iterator[Row]:
    behind = {
        id(member.examined): one
        for member, one in zip(given.newest.judged.members, given.behind, strict=True)
    }
    for each, capture in given.replicas.values():
        lag, log = behind.get(id(capture.examined)), capture.log
        yield {
            **_captured(capture),
            "capture_group": each.group,
            "first_offset": log.first_offset if log.batches else None,
            "last_epoch": log.last_epoch if log.batches else None,
            "last_written_ms": last_written(capture),
            "lag_records": lag and lag.records,
            "lag_ms": lag and lag.ms,
        }


def _never_started(given: GivenCluster) -> Iterator[Row]:
    for one in given.formatted:
        if one.replica.cluster_id == given.cluster_id:
            yield {
                "node_id": one.replica.node_id,
                "directory_id": one.replica.directory_id,
                "captured_at": given.newest.at,
                "source": one.shown,
            }


class _InLog:
    """The epochs of one log: of each the first offset, and the end (exclusive)."""

    def __init__(self, log: ReplicaLog) -> None:
        self.starts: dict[int, LogBatch] = {}
        for batch in log.batches:
            self.starts.setdefault(batch.epoch, batch)
        self.ends: dict[int, int] = {}
        end = log.end_offset
        for epoch in sorted(self.starts, reverse=True):
            self.ends[epoch] = end
            end = min(end, self.starts[epoch].base_offset)


def _epochs(given: GivenCluster, known: KnownLeaders) -> Iterator[Row]:
    """The epochs in the newest log of each replica, in the order of their offsets."""
    for _, capture in given.replicas.values():
        own = {one.epoch for one in capture.examined.leader_changes}
        held = _InLog(capture.log)
        for epoch, first in sorted(held.starts.items(), key=lambda one: one[1].base_offset):
            leader = known.leader(epoch)
            yield {
                **capture.row,
                "epoch": epoch,
                "leader_id": leader,
                "is_told_elsewhere": epoch not in own and leader is not None,
                "start_offset": first.base_offset,
                "end_offset": held.ends[epoch],
            }


class KnownLeaders:
    """Every epoch that any directory names, and who led it."""

    def __init__(self, given: GivenCluster) -> None:
        self._branch = given.branch
        self._changes: dict[int, tuple[bool, LeaderChangeBatch]] = {}
        self._stated: dict[int, set[int]] = {}
        self._starts: dict[int, LogBatch] = {}
        self._elsewhere: dict[int, int] = {}
        self._written: dict[int, int] = {}
        for _, capture in given.captures:
            self._take(capture)

    def _take(self, capture: Capture) -> None:
        directory = capture.examined.directory
        for epoch, first in _InLog(capture.log).starts.items():
            held = self._starts.get(epoch, first)
            self._starts[epoch] = min(held, first, key=lambda one: one.base_offset)
        for entry in directory.leader_epochs or ():
            known = self._elsewhere.get(entry.epoch, entry.start_offset)
            self._elsewhere[entry.epoch] = min(known, entry.start_offset)
        for change in capture.examined.leader_changes:
            batch = capture.log.batch_at(change.offset)
            beside = batch is None or not _is_on(self._branch, batch)
            if change.epoch not in self._changes or self._changes[change.epoch][0] > beside:
                self._changes[change.epoch] = beside, change
        state = directory.quorum_state
        if state is not None and state.leader_id >= 0:
            self._stated.setdefault(state.leader_epoch, set()).add(state.leader_id)
        for segment in directory.segments:
            names = ("leader_epoch", "max_timestamp", "crc_valid")
            for epoch, at, is_valid in numbers_of(segment.scan.batches, *names):
                if is_valid and at >= 0:
                    self._written[epoch] = max(at, self._written.get(epoch, at))

    def leader(self, epoch: int) -> int | None:
        """The leader of an epoch; None where no file names it, or files name two."""
        if epoch in self._changes:
            return self._changes[epoch][1].message.leader_id
        stated = self._stated.get(epoch, set())
        return next(iter(stated)) if len(stated) == 1 else None

    def rows(self) -> Iterable[Row]:
        """A row for each epoch, ascending. An epoch ends where the next one on the branch
        begins."""
        found: list[Row] = []
        following: int | None = None
        for epoch in sorted({*self._starts, *self._elsewhere, *self._changes}, reverse=True):
            row, is_on_branch = self._row(epoch, following)
            found.append(row)
            following = row["start_offset"] if is_on_branch else following
        return reversed(found)

    def _row(self, epoch: int, end: int | None) -> tuple[Mapping[str, Any], bool]:
        known, first = self._changes.get(epoch), self._starts.get(epoch)
        start = self._elsewhere.get(epoch, 0) if first is None else first.base_offset
        if known is not None:
            start = known[1].offset
        tail = None
        if first is not None and not _is_on(self._branch, first):
            tail = self._branch.tail_with(first.base_offset, first.epoch, first.digest)
        voters: Sequence[Any] = () if known is None else known[1].message.voters
        row = {
            "epoch": epoch,
            "leader_id": self.leader(epoch),
            "start_offset": start,
            "end_offset": end,
            "started_at": None if known is None else time_of(known[1].timestamp),
            "last_written": time_of(self._written.get(epoch)),
            "commitment": self._branch.commitment(start, tail),
            "voters": [{"voter_id": one.voter_id} for one in voters],
        }
        return row, tail is None


def _is_on(branch: Branch, batch: LogBatch) -> bool:
    return branch.holds(batch.base_offset, batch.epoch, batch.digest)
