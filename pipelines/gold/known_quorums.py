"""What the newest capture group proves about a cluster's quorum: replica.doctor.quorum.known_quorum
applied to rows of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from pipelines.cluster.batches import NO_TIME
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.control import ControlRecords
from pipelines.cluster.replica_logs import HeldBatches, ReplicaLogs, voter_keys
from pipelines.cluster.rows import Row
from pipelines.gold.registered import registered_later
from replica.doctor.check.catalogue import files as of_files
from replica.doctor.check.catalogue import log
from replica.doctor.quorum.attested import by_election, by_quorum_state, newest_epochs
from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.lacks_own import lacks_own
from replica.doctor.quorum.log_ends import LogEnd
from replica.doctor.quorum.went_back import ComparedRound, each_once, went_back
from replica.format.file_names import FileKind, classify
from replica.history.commitment import compare_group
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey

_HIDE_ENTRIES = frozenset(
    rule.id
    for rule in (
        log.CRC_MISMATCH, log.FRAMING, log.ZERO_HOLE, log.UNSUPPORTED_MAGIC,
        log.OFFSET_GAP, log.OFFSET_GOES_BACK, log.SEGMENT_NAME,
        of_files.UNREADABLE, of_files.CHANGED_WHILE_READ,
    )
)  # fmt: skip
"""The ids of the rules that find a part of a log that can't be read. The torn end of a copy doesn't
count."""
_HIDE_VOTES = frozenset(
    rule.id
    for rule in (of_files.STATE_FILE_BROKEN, of_files.UNREADABLE, of_files.CHANGED_WHILE_READ)
)
"""The ids of the rules that find a quorum-state that can't be read."""


def newest_captures(captures: Iterable[Row], group: str | None) -> list[Row]:
    """The newest capture of each replica in a group. captures: rows of bronze.captures."""
    newest = {
        (row["node_id"], row["directory_id"]): row
        for row in sorted(captures, key=itemgetter("captured_at", "ingest_seq"))
        if row["capture_group"] == group
    }
    return [row for _, row in sorted(newest.items())]


def furthest_captures(
    status: Iterable[Row],
    state: Iterable[Row],
    newest: Collection[str],
    unsynced_from: Mapping[str, int],
) -> tuple[Sequence[str], Sequence[str]]:
    """Two rounds of ids of captures, with one capture of each replica: in the first round the
    capture with the replica's newest epoch, in the second one the capture with the longest log that
    the replica may have acknowledged. A round may have the newest captures of some replicas,
    because they can prove that the disk of another replica was set back. A round that would have
    only newest captures is empty.

    status: rows of gold.replica_status. state: rows of bronze.replica_state. newest: ids of
    captures. unsynced_from: as in ReplicaLogs.
    """
    epochs = {row["capture_id"]: _or_less(row["leader_epoch"]) for row in state}
    rows = [*status]

    def epoch(row: Row) -> int:
        return epochs.get(row["capture_id"], -1)

    def end(row: Row) -> int:
        log_end = _or_less(row["log_end_offset"])
        return min(log_end, unsynced_from.get(row["capture_id"], log_end))

    def beside_newest(place: Callable[[Row], Any]) -> Sequence[str]:
        ids = _of_each(rows, place)
        return [] if all(one in newest for one in ids) else ids

    return beside_newest(lambda row: (epoch(row), end(row))), beside_newest(end)


def _or_less(number: int | None) -> int:
    """The number; where it is unknown (None), a number below all known ones."""
    return -1 if number is None else number


def _of_each(status: Iterable[Row], place: Callable[[Row], Any]) -> Sequence[str]:
    """For each replica, the id of the capture with its highest place; of equal places the first
    capture counts. place: gives the place of a row of `status`."""
    found: dict[tuple[int, str], tuple[Any, str]] = {}
    for row in status:
        replica, its_place = (row["node_id"], row["directory_id"]), place(row)
        if replica not in found or found[replica][0] < its_place:
            found[replica] = its_place, row["capture_id"]
    return [capture_id for _, (_, capture_id) in sorted(found.items())]


def quorum_files_of(
    captures: Sequence[Row],
    earlier: Sequence[Sequence[str]],
    logs: ReplicaLogs,
    held: HeldBatches,
    state: Iterable[Row],
    stated: Mapping[str, Row],
    found: Iterable[Row],
    tables: ClusterTables,
) -> tuple[ComparedRound, QuorumFiles]:
    """(compared logs, content of the other files) of captures of one group. The facts about the
    quorum, and a plan of `recover`, are made from both.

    earlier: rounds of the ids of earlier captures of the same replicas, with one capture of each
    replica in a round. The earlier captures may show more than the newest captures do. state: rows
    of bronze.replica_state. stated: from stated_voters. found: rows of bronze.findings. tables: the
    tables in which registrations of controllers are looked up.
    """
    ids = [row["capture_id"] for row in captures]
    states = {row["capture_id"]: row for row in state}
    of_rounds = iter(logs.of_group([one for each in (ids, *earlier) for one in each]))
    now, *before = (
        ComparedRound.of(compare_group([*islice(of_rounds, len(each))])) for each in (ids, *earlier)
    )
    attested = newest_epochs(
        shown for one in ids for shown in _attested(held.control(one), states.get(one, {}))
    )
    named = (stated[one]["in_force"] for one in ids if one in stated)
    configured = (voter_keys(one["voters"]) for one in named if one is not None)
    found = [*found]
    damaged = {row["capture_id"] for row in found if _hides_entries(row)}
    hidden = {row["capture_id"] for row in found if _hides_votes(row)}
    ends = [*_log_ends(ids, logs, held, {log.key: log.end_offset for log in now.group.logs})]
    files = QuorumFiles(
        unreadable=frozenset(logs.key(one) for one in ids if one in damaged),
        attested=attested,
        configured=next((keys for keys in configured if keys), frozenset()),
        went_back=each_once(one for each in before for one in went_back(each, now)),
        unreadable_states=frozenset(logs.key(one) for one in ids if one in hidden),
        lacks_own=lacks_own(ends),
        time_at=_time_at({logs.key(one): one for one in ids}, held),
        registered_later=registered_later(
            {logs.key(one): held.captures[one] for one in ids}, now.group.logs, ends, tables
        ),
    )
    return now, files


def _time_at(
    ids: Mapping[ReplicaKey, str], held: HeldBatches
) -> Callable[[ReplicaKey, int], int | None]:
    """The function QuorumFiles.time_at for captures. ids: the capture_id of each replica."""
    batches = held.batches

    def time_at(key: ReplicaKey, offset: int) -> int | None:
        places = batches.in_log(held.places(ids[key]))
        place = int(np.searchsorted(batches.last_offset[places], offset))
        if place == len(places) or batches.base_offset[places[place]] > offset:
            return None
        at = int(batches.max_timestamp[places[place]])
        return None if at == NO_TIME else at // 1000

    return time_at


def _log_ends(
    ids: Iterable[str], logs: ReplicaLogs, held: HeldBatches, holds_to: Mapping[ReplicaKey, int]
) -> Iterator[LogEnd]:
    """The end of the log of each capture whose log has a batch with a time. holds_to: the end
    (exclusive) of what each replica holds, in its log or its newest snapshot."""
    batches = held.batches
    for one in ids:
        last = held.last_in_log(one)
        if last is None or batches.max_timestamp[last] == NO_TIME:
            continue
        changes = (each.leader_change for each in held.control(one))
        led = {change["epoch"]: change["leader_id"] for change in changes if change is not None}
        key, epoch = logs.key(one), int(batches.leader_epoch[last])
        end, at_ms = int(batches.last_offset[last]) + 1, int(batches.max_timestamp[last]) // 1000
        is_last = end == holds_to.get(key)
        yield LogEnd(key, epoch, end, at_ms, led.get(epoch) == key.node_id, is_last)


def _hides_entries(found: Row) -> bool:
    """Whether a finding is about a part of the log that can't be read."""
    is_segment = classify(os.path.basename(found["file"])).kind is FileKind.SEGMENT
    return is_segment and found["rule"] in _HIDE_ENTRIES


def _hides_votes(found: Row) -> bool:
    """Whether a finding is about a quorum-state that can't be read."""
    is_state = classify(os.path.basename(found["file"])).kind is FileKind.QUORUM_STATE
    return is_state and found["rule"] in _HIDE_VOTES


def _attested(control: Iterable[ControlRecords], state: Row) -> Iterator[tuple[ReplicaKey, int]]:
    """(replica, epoch) for each leader and voter of an election that a capture records."""
    for change in (one.leader_change for one in control):
        if change is not None and change["epoch"] is not None:
            voters, granting = map(voter_keys, (change["voters"], change["granting_voters"]))
            yield from by_election(change["epoch"], change["leader_id"], voters, granting)
    if state.get("leader_epoch") is not None:
        voted_id, leader_id = (_named(state.get(name)) for name in ("voted_id", "leader_id"))
        directory_id = state.get("voted_directory_id") or ZERO_UUID
        yield from by_quorum_state(
            state["leader_epoch"],
            None if voted_id is None else ReplicaKey(voted_id, directory_id),
            leader_id,
            is_static=state.get("quorum_version") == 0,
        )


def _named(node_id: int | None) -> int | None:
    """The node id in a field of quorum-state; None where the field holds NO_NODE, which stands for
    no node."""
    return None if node_id == NO_NODE else node_id
