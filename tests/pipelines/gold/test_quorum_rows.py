"""The tables about the quorum from single rows, where the quorums of CAPTURES have no such case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from pipelines.cluster.branch import BranchBatches
from pipelines.cluster.branch_facts import BranchFacts, BranchQuestions, facts_of
from pipelines.cluster.rows import Row, milliseconds
from pipelines.gold.batch_sizes import batch_sizes
from pipelines.gold.elections import elections
from pipelines.gold.inputs import Gold
from pipelines.gold.log_growth import log_growth
from pipelines.gold.replica_status import replica_status
from pipelines.gold.retention_forecast import MAX_MS, retention_forecast
from pipelines.gold.snapshot_cadence import marks_of, snapshot_cadence
from pipelines.gold.votes import votes
from pipelines.silver.capture_groups import newest_group
from pipelines.silver.committed_log import AgreedBranch
from pipelines.table_functions import GOLD_FUNCTIONS
from pipelines.tables.bronze import LOG_RECORDS
from pipelines.tables.quorum import QUORUM
from replica.model.keys import ZERO_UUID
from tests.pipelines.cluster.batch_rows import batches
from tests.pipelines.cluster.captures import gold_of, tables_of
from tests.pipelines.cluster.record_rows import log_records
from tests.pipelines.quorums import START, Batch, Capture, epoch

HERE = "aGVyZS1kaXJlY3RvcnktMQ"
REPLICA = {"cluster_id": "c", "node_id": 1, "directory_id": HERE}
FIRST = epoch(1, 1, 0, 10)
ASKED = BranchQuestions()


def _batch(base: int, size: int, at: datetime | None, *, records: int = 1) -> Row:
    row = {**REPLICA, "base_offset": base, "leader_epoch": 1, "crc": 7, "size_bytes": size}
    return {**row, "last_offset": base + records - 1, "record_count": records, "max_timestamp": at}


def _record(base: int, kind: str, value: bytes | None, at: datetime | None = START) -> Row:
    key = {**REPLICA, "base_offset": base, "leader_epoch": 1, "crc": 7}
    return {**key, "timestamp": at, "record_type": kind, "value": value}


def _snapshot(end: int, at: datetime | None, **others: Any) -> Row:
    row = {**REPLICA, "end_offset": end, "epoch": 1, "content_sha256": "a", "state": "complete"}
    row |= {"size_bytes": 100, "record_count": 2, "last_contained_log_timestamp": at}
    return {**row, "last_seen": START, "captures": ["a"], "is_whole": True, **others}


def _capture(**others: Any) -> Row:
    row = {**REPLICA, "capture_id": "a", "captured_at": START, "ingest_seq": 1, "files": []}
    return {**row, **others}


def _facts(
    rows: Iterable[Row], records: Iterable[Row] = (), asked: BranchQuestions = ASKED
) -> BranchFacts:
    """Those of a branch that has these batches."""
    some = batches(rows)
    proven = np.ones(len(some), bool)
    order = np.argsort(some.base_offset)
    columns = some.base_offset, some.last_offset + 1, some.leader_epoch, some.crc
    branch = AgreedBranch(*(one[order] for one in columns), proven, "c")
    return facts_of(BranchBatches(some, order, branch), log_records(records), asked)


def _forecast(
    captures: list[Row], snapshots: list[Row], branch: list[Row]
) -> Iterator[dict[str, Any]]:
    times = [row["max_timestamp"] for row in branch if row["max_timestamp"] is not None]
    newest = milliseconds(max(times)) if times else None
    asked = BranchQuestions((), 0 if newest is None else newest - MAX_MS)
    recent = _facts(branch, asked=asked).recent
    return retention_forecast(captures, snapshots, newest, recent, [])


def _cadence(snapshots: list[Row], branch: list[Row]) -> list[Row]:
    asked = BranchQuestions(marks_of(snapshots))
    return [*snapshot_cadence(snapshots, _facts(branch, asked=asked).below)]


def _tables(*captures: Capture) -> dict[str, list[Row]]:
    return _made(_gold(*captures))


def _gold(*captures: Capture) -> Gold:
    return gold_of(tables_of(captures), "c")


def _made(of: Gold) -> dict[str, list[Row]]:
    return {contract.name: [*GOLD_FUNCTIONS[contract](of)] for contract in QUORUM}


def _after(**span: float) -> datetime:
    return START + timedelta(**span)


def test_a_cluster_without_captures_has_empty_tables() -> None:
    tables = _made(gold_of(tables_of([]), "c"))
    assert len(tables) == 8
    assert not any(tables.values())


def test_a_percentile_is_a_size_that_a_batch_has() -> None:
    timed = [_batch(10 * size, size, START, records=2) for size in range(1, 101)]
    untimed, rows = _batch(5000, 7, None, records=9), {}
    for row in batch_sizes("c", _facts([untimed, *timed])):
        rows[row["hour"]] = row
    sizes = [rows[START][f"{name}_bytes"] for name in ("p50", "p95", "p99", "max")]
    assert sizes == [50, 95, 99, 100]
    assert (rows[START]["batches"], rows[START]["records"], rows[START]["bytes"]) == (
        100,
        200,
        5050,
    )
    assert [rows[None][f"{name}_bytes"] for name in ("p50", "p95", "p99", "max")] == [7] * 4
    assert (rows[None]["max_records"], rows[None]["largest_offset"]) == (9, 5000)


def test_of_equally_large_batches_the_first_is_the_largest() -> None:
    (row,) = batch_sizes("c", _facts(_batch(base, 100, START) for base in (30, 10, 20)))
    assert row["largest_offset"] == 10


def test_a_batch_is_spread_over_its_records_by_their_length() -> None:
    kinds = (("TOPIC_RECORD", b"x" * 33), ("NO_OP_RECORD", b"x" * 3), ("SECRET", None))
    records = [_record(0, *kind) for kind in kinds]
    of_another_replica = [{**row, "node_id": 2} for row in records]
    branch = [_batch(0, 570, START, records=3)]
    rows = log_growth("c", _facts(branch, [*records, *of_another_replica]))
    # 7 bytes each besides the value: 40, 10 and 7 of 57
    assert sorted((row["record_type"], row["records"], row["bytes"]) for row in rows) == [
        ("NO_OP_RECORD", 1, 100),
        ("SECRET", 1, 70),
        ("TOPIC_RECORD", 1, 400),
    ]


def test_half_a_byte_is_rounded_up_and_records_of_other_hours_are_apart() -> None:
    times = (_after(minutes=59), _after(minutes=60))
    records = [_record(0, "A", b"", at) for at in times]
    rows = log_growth("c", _facts([_batch(0, 101, START)], records))
    assert [(row["hour"], row["bytes"]) for row in rows] == [(START, 51), (_after(hours=1), 51)]


def test_a_snapshot_that_was_never_complete_and_the_first_one_have_no_cadence() -> None:
    snapshots = [_snapshot(5, START, state="part"), _snapshot(0, START, epoch=0)]
    assert _cadence(snapshots, []) == []


def test_of_two_contents_of_a_snapshot_the_one_last_seen_counts() -> None:
    older = _snapshot(5, START, content_sha256="b", size_bytes=1)
    newer = _snapshot(5, START, last_seen=_after(minutes=1), size_bytes=2)
    (row,) = _cadence([newer, older], [])
    assert row["size_bytes"] == 2


@pytest.mark.parametrize(
    ("size", "later", "reached"),
    [
        (20 * 1024 * 1024, None, "bytes"),
        (20 * 1024 * 1024 - 1, None, None),
        (20 * 1024 * 1024 - 1, timedelta(hours=1), "interval"),
        (20 * 1024 * 1024 - 1, timedelta(minutes=59), "neither"),
    ],
)
def test_no_default_is_called_reached_where_time_or_size_is_unknown(
    size: int, later: timedelta | None, reached: str | None
) -> None:
    at = None if later is None else START + later
    branch = [_batch(5, size, START), _batch(6, 10**9, START)]
    first, second = _cadence([_snapshot(6, at), _snapshot(5, START)], branch)
    assert (first["reached"], first["log_bytes_since"]) == (None, None)
    assert (second["log_bytes_since"], second["reached"]) == (size, reached)


def test_a_log_without_a_span_of_time_has_no_growth() -> None:
    branch = [_batch(0, 100, START), _batch(1, 100, START), _batch(2, 100, None)]
    (row,) = _forecast([_capture()], [], branch)
    assert (row["measured_ms"], row["log_bytes_per_day"], row["bytes_reached_at"]) == (None,) * 3
    assert (row["snapshots"], row["snapshot_bytes"], row["head_goes_at"]) == (0, 0, None)


def test_growth_is_measured_over_the_newest_seven_days() -> None:
    days = [(0, 10**9), (1, 0), (8, 700)]
    branch = [_batch(n, size, _after(days=day)) for n, (day, size) in enumerate(days)]
    (row,) = _forecast([_capture()], [], branch)
    assert (row["measured_ms"], row["log_bytes_per_day"]) == (7 * 86_400_000, 100)
    assert row["bytes_reached_at"] is None, "100 MiB at 100 bytes a day take 2,872 years"


def test_only_log_files_of_segments_count_as_log_bytes() -> None:
    first = "__cluster_metadata-0/00000000000000000000"
    names = (f"{first}.log", f"{first}.log.deleted", f"{first}.index", "00000000000000000000.log")
    files = [{"path": name, "size_bytes": 10**n} for n, name in enumerate(names)]
    older = _capture(capture_id="b", captured_at=_after(hours=-1))
    (row,) = _forecast([_capture(files=files), older], [], [])
    assert (row["capture_id"], row["log_bytes"]) == ("a", 1)


def test_no_time_beyond_the_year_9999_is_forecast() -> None:
    end = datetime(9999, 12, 31, tzinfo=UTC)
    branch = [_batch(0, 1, end - timedelta(days=1)), _batch(1, 1, end)]
    (row,) = _forecast([_capture()], [_snapshot(1, end)], branch)
    assert row["log_bytes_per_day"] == 2
    assert (row["bytes_reached_at"], row["ms_reached_at"]) == (None, None)


def test_the_oldest_snapshot_without_a_time_says_nothing_of_when_it_goes() -> None:
    snapshots = [_snapshot(9, START), _snapshot(5, None)]
    (row,) = _forecast([_capture()], snapshots, [])
    assert (row["ms_reached_at"], row["head_goes_at"]) == (None, None)
    assert (row["snapshots"], row["next_log_start_offset"]) == (2, None)


def test_an_epoch_that_quorum_states_alone_know_is_of_the_first_capture_that_shows_it() -> None:
    state = [{**REPLICA, "capture_id": capture_id, "leader_epoch": 3} for capture_id in ("a", "b")]
    captures = [_capture(captured_at=_after(hours=2)), _capture(capture_id="b")]
    (row,) = elections("c", [], captures, state)
    assert (row["hour"], row["elections"], row["leaders"]) == (START, 0, [])
    assert (row["leaderless_epochs"], row["shortest_ms"]) == (1, None)


def test_an_epoch_zero_is_no_election() -> None:
    state = [{**REPLICA, "capture_id": "a", "leader_epoch": epoch} for epoch in (0, None)]
    assert elections("c", [], [_capture()], state) == []


@pytest.mark.parametrize("first", [0, -3])
def test_a_damaged_history_that_begins_below_epoch_one_counts_no_negative_epochs(
    first: int,
) -> None:
    known = {"cluster_id": "c", "leader_id": 1, "started_at": START, "ended_at": None}
    history = [{**known, "epoch": first + n, "start_offset": n} for n in range(2)]
    (row,) = elections("c", history, [], [])
    assert (row["elections"], row["leaderless_epochs"]) == (2, 0)


def test_a_voter_without_a_directory_adds_none_to_a_vote() -> None:
    voters = [{"voter_id": 1, "directory_id": name} for name in (None, ZERO_UUID)]
    known = {"cluster_id": "c", "epoch": 2, "leader_id": 1, "granting_voters": voters}
    state = {**REPLICA, "leader_epoch": 2, "voted_id": 1}
    lonely = {**state, "leader_epoch": 5}
    first, second = votes("c", [known], [state, lonely, {**state, "voted_id": -1}])
    assert (first["voter_directory_ids"], first["sources"]) == (
        [HERE],
        ["leader_change", "quorum_state"],
    )
    assert (first["is_elected"], second["is_elected"]) == (True, None)


def test_the_newest_group_is_told_by_time_then_by_ingest_then_by_name() -> None:
    rows = [
        ("z", 0, 9),
        ("b", 1, 2),
        ("a", 1, 2),
        ("c", 1, 1),
    ]
    groups = [
        {"capture_group": name, "captured_at": _after(hours=n), "ingest_seq": seq}
        for name, n, seq in rows
    ]
    assert newest_group(groups) == newest_group(reversed(groups)) == "a"
    assert newest_group([]) is None


def test_a_voters_record_that_nobody_could_decode_leaves_open_who_agrees() -> None:
    captures = (
        Capture("c", 1, 0, FIRST, quorum_epoch=1),
        Capture("c", 2, 0, FIRST, quorum_epoch=1),
    )
    of = tables_of(captures)
    unreadable = {"record_type": "KRAFT_VOTERS", "value": None, "payload": None}
    records = of[LOG_RECORDS].to_pylist()
    records = [row | unreadable if row["node_id"] == 1 else row for row in records]
    tables = _made(gold_of({**of, LOG_RECORDS: log_records(records)}, "c"))
    beliefs = {(row["node_id"], row["source"]): row for row in tables["gold.voter_beliefs"]}
    assert beliefs[1, "log"]["voters"] is None
    assert beliefs[1, "log"]["agrees"] is None
    status = {row["node_id"]: row for row in tables["gold.replica_status"]}
    assert (status[1]["is_voter"], status[2]["is_voter"]) == (None, True)


def test_a_replica_that_no_group_compares_is_not_behind() -> None:
    gold = _gold(Capture("c", 1, 0, FIRST, quorum_epoch=1))
    of, held = gold.bronze, gold.silver.held
    (row,) = replica_status(of.captures, held, of.snapshots, of.state, gold.stated, [])
    assert (row["is_latest"], row["lag_records"], row["lag_ms"]) == (False, 0, None)
    assert (row["agreed_end_offset"], row["last_epoch"], row["high_watermark"]) == (None,) * 3


def test_without_a_quorum_state_there_is_no_role() -> None:
    (row,) = _tables(Capture("c", 1, 0, FIRST, leader=1))["gold.replica_status"]
    assert (row["role"], row["leader_id"], row["voted_id"]) == (None, 1, None)


def test_an_unchanged_replica_has_a_status_in_each_group_that_saw_it() -> None:
    captures = [Capture("c", 1, minute, FIRST, quorum_epoch=1) for minute in (0, 1)]
    rows = _tables(*captures)["gold.replica_status"]
    assert len({row["capture_id"] for row in rows}) == 1
    assert [row["is_latest"] for row in rows] == [False, True]
    assert [row["agreed_end_offset"] for row in rows] == [10, 10]


def test_a_replica_that_holds_a_snapshot_alone_lags_by_the_time_of_its_last_record() -> None:
    fresh = Capture("c", 2, 0, log_start=5, quorum_epoch=1, snapshots=((5, 1),))
    rows = _tables(Capture("c", 1, 0, (*FIRST, Batch(10, 29, 1)), quorum_epoch=1), fresh)
    status = {row["node_id"]: row for row in rows["gold.replica_status"]}
    assert (status[2]["snapshot_end_offset"], status[2]["last_append_time"]) == (5, None)
    assert (status[1]["lag_ms"], status[2]["lag_ms"]) == (0, 25_000)
