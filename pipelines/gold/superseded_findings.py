"""Turns findings of bronze into notes, where other logs of the capture group show that the
elections in them are over.

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
from replica.model.epochs import OffsetAndEpoch, election_order

_OF_ELECTIONS = (files.ELECTIONS_WITHOUT_WINNER.id, log.ENDLESS_ELECTIONS.id)


class _GroupLogs(NamedTuple):
    """The logs of one capture group."""

    ends: dict[str, OffsetAndEpoch]
    """The end of each capture's log."""
    together: ClusterLogs


def beside_other_logs(found: Iterable[Row], status: Iterable[Row]) -> Iterator[Row]:
    """The findings. A finding about elections is judged by the logs of the newest group that has
    its capture, and so may become a note. found: rows of bronze.findings. status: rows of
    gold.replica_status."""
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
    members: dict[str, dict[str, OffsetAndEpoch]] = {}
    for row in status:
        ends = members.setdefault(row["capture_group"], {})
        if row["last_epoch"] is not None:
            ends[row["capture_id"]] = OffsetAndEpoch(row["log_end_offset"], row["last_epoch"])
    logs = {name: _logs(ends, idle) for name, ends in members.items()}
    return {row["capture_id"]: logs[row["capture_group"]] for row in status}


def _logs(ends: dict[str, OffsetAndEpoch], idle: set[str]) -> _GroupLogs:
    if not ends:
        return _GroupLogs(ends, ClusterLogs())
    newest = max(ends, key=lambda capture: election_order(ends[capture]))
    going_on = None if newest in idle else ends[newest]
    newest_epoch = max(end.epoch for end in ends.values())
    return _GroupLogs(ends, ClusterLogs(newest_epoch, going_on))
