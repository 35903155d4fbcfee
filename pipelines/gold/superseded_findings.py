"""Judges bronze's findings about elections by all logs of the capture group. A finding becomes a
note where another log shows that the elections are over. A note becomes a finding where no file
shows that they are over.

An ingest judges a capture alone. The log of a node that was down for long may end with elections
without a winner, or with leaders that changed nothing, while another log of the cluster shows that
the quorum continued. `kraftlake check` then prints a note, and so gold.findings has a note, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_of, finding_row
from replica.doctor.check.catalogue import files, log
from replica.doctor.check.other_logs import ClusterLogs
from replica.doctor.check.other_logs import beside_other_logs as beside
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch, election_order

_OF_ELECTIONS = (
    files.ELECTIONS_WITHOUT_WINNER.id,
    files.QUORUM_STATE_AHEAD.id,
    log.ENDLESS_ELECTIONS.id,
)


class _GroupLogs(NamedTuple):
    """The logs of one capture group."""

    ends: dict[str, OffsetAndEpoch]
    """The end of each capture's log, by capture_id."""
    together: ClusterLogs


def beside_other_logs(found: Iterable[Row], status: Iterable[Row]) -> Iterator[Row]:
    """The rows of `found`. A finding about elections is judged by the logs of the newest group that
    has its capture: it may become a note, and a note a finding. found: rows of bronze.findings.
    status: rows of gold.replica_status."""
    rows = list(found)
    if not any(row["rule"] in _OF_ELECTIONS for row in rows):
        yield from rows
        return
    idle = {row["capture_id"] for row in rows if row["rule"] == log.ENDLESS_ELECTIONS.id}
    groups = _groups_of_captures(sorted(status, key=lambda row: row["captured_at"]), idle)
    for row in rows:
        logs = groups.get(row["capture_id"])
        if logs is None or row["rule"] not in _OF_ELECTIONS:
            yield row
        else:
            end = logs.ends.get(row["capture_id"])
            yield {**row, **finding_row(beside(finding_of(row), end, logs.together))}


def _groups_of_captures(status: Sequence[Row], idle: set[str]) -> dict[str, _GroupLogs]:
    """The logs of the newest group of each capture. status: the oldest first. idle: the captures
    whose logs end with leaders that changed nothing."""
    members: dict[str, list[Row]] = {}
    for row in status:
        members.setdefault(row["capture_group"], []).append(row)
    logs = {name: _logs(rows, idle) for name, rows in members.items()}
    return {row["capture_id"]: logs[row["capture_group"]] for row in status}


def _logs(rows: Sequence[Row], idle: set[str]) -> _GroupLogs:
    """The logs of one capture group. rows: the group's rows of gold.replica_status."""
    ends = {
        row["capture_id"]: OffsetAndEpoch(row["log_end_offset"], row["last_epoch"])
        for row in rows
        if row["last_epoch"] is not None
    }
    if not ends:
        return _GroupLogs(ends, ClusterLogs())
    newest = max(ends, key=lambda capture: election_order(ends[capture]))
    going_on = None if newest in idle else ends[newest]
    states = [row for row in rows if row["leader_epoch"] is not None]
    led = [row["leader_epoch"] for row in states if row["leader_id"] is not None]
    led_epoch = max(*led, *(end.epoch for end in ends.values()), UNDEFINED_EPOCH)
    quorum_epoch = max((row["leader_epoch"] for row in states), default=UNDEFINED_EPOCH)
    return _GroupLogs(ends, ClusterLogs(led_epoch, quorum_epoch, going_on))
