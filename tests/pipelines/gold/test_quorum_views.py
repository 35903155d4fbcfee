"""The tables about the quorum, of made-up quorums."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pyspark.sql import Row

from pipelines.tables.quorum import QUORUM
from tests.pipelines.cluster.captures import golds_of, rows_of
from tests.pipelines.quorums import START, VOTERS, Batch, Capture, epoch

FIRST = epoch(1, 1, 0, 10)
GHOSTS = (*FIRST, Batch(10, 14, 1))
ELECTED = (*FIRST, *epoch(2, 3, 10, 30))
TRIMMED = (Batch(5, 9, 1), *epoch(2, 3, 10, 30))
LATER = (*FIRST, *epoch(4, 3, 10, 30))
OLD, NEW = "b2xkLWRpcmVjdG9yeS0wMQ", "bmV3LWRpcmVjdG9yeS0wMQ"
THREE = ((1, OLD), (2, NEW), (3, NEW))
NAMED = (*FIRST, Batch(10, 10, 1, voters=THREE))
REPLACED = (*NAMED, Batch(11, 11, 1, voters=((1, NEW), *THREE[1:])))

_SPLIT = {"static_voters": VOTERS}
CAPTURES = (
    Capture("split", 1, 0, ELECTED, quorum_epoch=2, leader=3, configured_voters=(1, 2), **_SPLIT),
    Capture("split", 2, 0, GHOSTS, quorum_epoch=1, leader=2, **_SPLIT),
    Capture("split", 3, 0, ELECTED, quorum_epoch=2, leader=3, **_SPLIT),
    Capture("split", 11, 0, FIRST, quorum_epoch=2, leader=3, static_voters=(1, 2, 3, 4)),
    # nothing is known of node 2, and node 1 stands for election without end
    Capture("churn", 1, 70, FIRST, quorum_epoch=7, voted=1),
    Capture("churn", 2, 70),
    # the record says that node 2 voted for node 1
    Capture("double", 2, 0, FIRST, quorum_epoch=1, voted=3),
    Capture("gap", 1, 0, LATER, quorum_epoch=4, leader=3),
    Capture("headless", 1, 0, TRIMMED, quorum_epoch=2, leader=3),
    # node 1 was given a new disk; node 3 hasn't heard of that, and has an older snapshot still
    Capture("dynamic", 1, 0, REPLACED, quorum_epoch=1, leader=2, directory=NEW),
    Capture("dynamic", 2, 0, REPLACED, quorum_epoch=1, leader=2, directory=OLD),
    Capture(
        "dynamic",
        3,
        0,
        NAMED,
        quorum_epoch=1,
        leader=2,
        directory=NEW,
        snapshots=((5, 1),),
        snapshot_voters=(1, 2),
    ),
    Capture(
        "cadence",
        1,
        0,
        ELECTED,
        quorum_epoch=2,
        snapshots=((0, 0), (10, 1), (30, 2), (4000, 2)),
        log_bytes=90_000_000,
    ),
    # offsets 3 and 4 are gone
    Capture("cut", 1, 0, TRIMMED, snapshots=((3, 1), (10, 1), (30, 2)), log_bytes=1000),
)


Views = dict[str, dict[str, list[Row]]]
"""Rows by table, without the schema, and cluster."""


@pytest.fixture(scope="module")
def views() -> Views:
    derived = golds_of(CAPTURES)
    return {
        contract.table_name: {cluster: rows_of(one, contract) for cluster, one in derived.items()}
        for contract in QUORUM
    }


def _status(views: Views, cluster: str, node: int) -> Row:
    (row,) = (r for r in views["replica_status"][cluster] if r.node_id == node)
    return row


def test_the_loser_of_a_split_lags_from_where_it_parted(
    views: Views,
) -> None:
    row = _status(views, "split", 2)
    assert (row.role, row.is_voter, row.leader_epoch, row.last_epoch) == ("leader", True, 1, 1)
    assert (row.agreed_end_offset, row.own_records) == (10, 5)
    assert (row.lag_records, row.lag_ms) == (20, 20_000), "records are a second apart"
    assert row.last_append_time == _naive(START) + timedelta(seconds=14)


def test_a_replica_status_says_what_proves_its_high_watermark(
    views: Views,
) -> None:
    rows = [_status(views, "split", node) for node in (1, 2, 3, 11)]
    assert [row.high_watermark for row in rows] == [30, 10, 30, 10]
    for row in rows:
        assert row.high_watermark_evidence == "majority"
        holders, *entry = row.evidence_holders, row.evidence_offset, row.evidence_epoch
        # of epoch 1 its leader, node 1, counts though it knows epoch 2
        by_leader = row.node_id in (2, 11)
        assert (holders, entry) == (([1, 2], [9, 1]) if by_leader else ([1, 3], [29, 2]))
    assert _status(views, "headless", 1).high_watermark is None


def test_a_snapshot_bounds_the_high_watermark_of_who_holds_it(
    views: Views,
) -> None:
    row = _status(views, "cadence", 1)
    assert (row.high_watermark, row.high_watermark_evidence) == (4000, "snapshot")
    assert (row.snapshot_end_offset, row.snapshot_epoch, row.evidence_holders) == (4000, 2, [])


def test_the_roles_are_those_of_quorum_state_and_of_the_voters(
    views: Views,
) -> None:
    assert _status(views, "split", 1).role == "follower"
    assert (_status(views, "split", 11).role, _status(views, "split", 11).is_voter) == (
        "observer",
        False,
    )
    candidate = _status(views, "churn", 1)
    assert (candidate.role, candidate.voted_id, candidate.leader_id) == ("candidate", 1, None)
    assert _status(views, "dynamic", 2).is_voter is False, "its directory isn't the voter's"
    assert _status(views, "dynamic", 2).role == "leader", "and yet it leads"


def test_of_an_empty_directory_nothing_is_claimed(views: Views) -> None:
    row = _status(views, "churn", 2)
    unknown = ("role", "is_voter", "leader_id", "leader_epoch", "voted_id", "last_epoch")
    unknown += ("high_watermark", "high_watermark_evidence", "snapshot_end_offset", "lag_ms")
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown)
    assert (row.log_end_offset, row.lag_records, row.own_records) == (0, 10, 0)


@pytest.mark.parametrize(
    ("cluster", "hours"),
    [
        ("split", [(0, 2, [1, 3], 0)]),
        # epochs 2 to 7 are in no log; the capture is of the next hour
        ("churn", [(0, 1, [1], 0), (1, 0, [], 6)]),
        ("gap", [(0, 2, [1, 3], 2)]),
        # who knows what was before epoch 1, whose record is gone
        ("headless", [(None, 1, [], 0), (0, 1, [3], 0)]),
    ],
)
def test_elections_count_what_began_and_what_nobody_won(
    views: Views,
    cluster: str,
    hours: list[tuple[int | None, int, list[int], int]],
) -> None:
    rows = views["elections"][cluster]
    assert [(_hour(r.hour), r.elections, r.leaders, r.leaderless_epochs) for r in rows] == hours


def test_the_shortest_reign_is_told(views: Views) -> None:
    assert views["elections"]["split"][0].shortest_ms == 10_000
    assert views["elections"]["churn"][0].shortest_ms is None, "it hasn't ended"


def test_a_vote_is_told_by_record_and_by_quorum_state(
    views: Views,
) -> None:
    votes = [
        (r.voter_id, r.candidate_id, r.sources, r.is_elected, r.is_double)
        for r in views["votes"]["double"]
    ]
    assert votes == [
        (1, 1, ["leader_change"], True, False),
        (2, 1, ["leader_change"], True, True),
        (2, 3, ["quorum_state"], False, True),
    ]
    (lonely,) = (r for r in views["votes"]["churn"] if r.epoch == 7)
    assert (lonely.voter_id, lonely.candidate_id, lonely.is_elected) == (1, 1, None)


def test_a_node_with_another_voter_set_does_not_agree(
    views: Views,
) -> None:
    agrees = {
        (r.node_id, r.source): r.agrees
        for r in views["voter_beliefs"]["split"]
        if r.source != "log"
    }
    assert agrees == {
        (1, "configuration"): False,
        **{(node, "quorum_state"): node != 11 for node in (1, 2, 3, 11)},
        **{(node, "meta_properties"): True for node in (1, 2, 3)},
        (11, "meta_properties"): None,
    }


def test_a_voter_with_another_directory_than_the_record_names_disagrees(
    views: Views,
) -> None:
    rows = {(r.node_id, r.source): r for r in views["voter_beliefs"]["dynamic"]}
    assert {key: row.agrees for key, row in rows.items()} == {
        (1, "log"): True,
        (1, "meta_properties"): True,
        (2, "log"): True,
        (2, "meta_properties"): False,
        (3, "log"): False,
        (3, "snapshot"): None,
        (3, "meta_properties"): True,
    }
    newest = rows[1, "log"]
    assert (newest.offset, newest.epoch) == (11, 1)
    assert [(v.voter_id, v.directory_id) for v in newest.voters] == [(1, NEW), *THREE[1:]]
    assert newest.voters[0].endpoints[0].port == 9001
    assert [v.directory_id for v in rows[2, "meta_properties"].voters] == [OLD]


def test_the_cadence_counts_from_one_snapshot_to_the_next(
    views: Views,
) -> None:
    cadence = [
        (r.end_offset, r.records_since, r.ms_since, r.log_bytes_since, r.reached)
        for r in views["snapshot_cadence"]["cadence"]
    ]
    assert cadence == [
        (10, None, None, None, None),
        (30, 20, 20_000, 200, "neither"),
        (4000, 3970, 3_970_000, None, "interval"),
    ]


def test_the_growth_of_a_log_is_null_where_batches_are_gone(
    views: Views,
) -> None:
    grown = [
        (r.previous_end_offset, r.log_bytes_since, r.reached)
        for r in views["snapshot_cadence"]["cut"]
    ]
    assert grown == [(None, None, None), (3, None, None), (10, 200, "neither")]


def test_the_retention_takes_the_head_when_bytes_or_time_are_up(
    views: Views,
) -> None:
    (first,) = views["retention_forecast"]["cadence"]
    assert (first.log_bytes, first.snapshots, first.snapshot_bytes) == (90_000_000, 4, 400)
    # four batches of 100 bytes from second 0 to 29; a snapshot of 100 bytes after 3970 s
    assert (first.measured_ms, first.log_bytes_per_day) == (29_000, 1_191_724)
    assert first.snapshot_bytes_per_day == 2_176
    days = (100 * 1024 * 1024 - 90_000_000 - 400) / (1_191_724 + 2_176)
    at = _naive(START) + timedelta(seconds=29) + timedelta(days=days)
    assert abs(first.bytes_reached_at - at) < timedelta(seconds=1)
    # 0-0 is the oldest, and goes a week after it was made
    assert first.ms_reached_at == _naive(START) + timedelta(days=7, seconds=-1)
    assert (first.head_goes_at, first.next_log_start_offset) == (first.ms_reached_at, 10)
    (cut,) = views["retention_forecast"]["cut"]
    assert cut.ms_reached_at == _naive(START) + timedelta(days=7, seconds=2)
    assert (cut.head_goes_at, cut.next_log_start_offset) == (cut.ms_reached_at, 10)


def test_without_two_snapshots_the_head_stays(views: Views) -> None:
    for row in views["retention_forecast"]["split"]:
        assert (row.snapshots, row.snapshot_bytes, row.ms_reached_at) == (0, 0, None)
        assert (row.head_goes_at, row.next_log_start_offset) == (None, None)
        assert row.bytes_reached_at is not None
    empty = views["retention_forecast"]["churn"][1]
    assert (empty.node_id, empty.log_bytes) == (2, 0)


def _naive(at: datetime) -> datetime:
    """As Row has it: the session's time zone is UTC, and Python's need not be."""
    return datetime.fromtimestamp(at.timestamp())  # noqa: DTZ006


def _hour(at: datetime | None) -> int | None:
    return None if at is None else (at - _naive(START)) // timedelta(hours=1)
