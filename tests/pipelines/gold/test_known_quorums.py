"""What the tables prove about a quorum whose files are damaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipelines.gold.known_quorums import furthest_captures
from pipelines.tables.bronze import FINDINGS
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import VoterDoubt
from tests.pipelines.cluster.captures import gold_of, tables_of
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Batch, Capture, epoch

LACKING = ("voter-behind", "leader-lacks-own-records")
SEGMENT = "node/__cluster_metadata-0/00000000000000000000.log"
SNAPSHOT = "node/__cluster_metadata-0/00000000000000000010-0000000001.checkpoint"
CAPTURES = tuple(
    Capture("c", node, minute, epoch(1, 1, 0, 10), quorum_epoch=1)
    for minute in (0, 1)
    for node in (1, 2, 3)
)


def _with_finding(
    capture: Capture,
    rule: str = "crc-mismatch",
    file: str = SEGMENT,
    *,
    captures: Sequence[Capture] = CAPTURES,
) -> KnownQuorum:
    """The quorum, where a rule has found something in a capture."""
    row = {**capture.replica, "capture_id": capture.capture_id, "rule": rule, "file": file}
    found = bronze_tables({FINDINGS: [{**row, "severity": "error", "message": "made"}]})
    return gold_of({**tables_of(captures), FINDINGS: found[FINDINGS]}, "c").quorum


@pytest.mark.parametrize("rule", ["crc-mismatch", "zero-hole", "offset-gap", "segment-name"])
def test_a_voter_whose_log_can_not_be_read_is_counted_for_no_majority(rule: str) -> None:
    quorum = _with_finding(CAPTURES[4], rule)
    (voter,) = quorum.in_doubt(VoterDoubt.UNREADABLE)
    assert (voter.key.node_id, voter.held_end, len(quorum.relied)) == (2, None, 2)


@pytest.mark.parametrize(
    ("rule", "file"),
    [
        ("torn-tail", SEGMENT),  # a node wrote on while its directory was copied
        ("crc-mismatch", SNAPSHOT),
        ("epoch-churn", SEGMENT),
    ],
)
def test_a_voter_whose_log_can_be_read_is_counted(rule: str, file: str) -> None:
    assert not _with_finding(CAPTURES[4], rule, file).missing


def test_damage_that_the_newest_capture_does_not_show_any_more_is_no_doubt() -> None:
    longer = (*epoch(1, 1, 0, 10), Batch(10, 11, 1))
    captures = (*CAPTURES[:3], Capture("c", 2, 1, longer, quorum_epoch=1))
    assert not _with_finding(captures[1], captures=captures).in_doubt(VoterDoubt.UNREADABLE)


@pytest.mark.parametrize(("now", "stale"), [(2, [2]), (3, [2]), (4, [])])
def test_the_capture_that_shows_most_of_a_replica_is_one_of_synced_records(
    now: int, stale: list[int]
) -> None:
    """A longer log may have stood behind zeros of a power cut: its replica acknowledged nothing
    that an earlier capture doesn't show. now: how many batches it has."""
    log = (Batch(0, 0, 1, leader=1), *(Batch(10 * at - 9, 10 * at, 1) for at in range(1, 6)))
    torn = Capture("c", 2, 1, log, quorum_epoch=1)
    captures = [Capture("c", node, 0, log[:4], quorum_epoch=1) for node in (1, 2, 3)]
    captures += [torn, replace(captures[0], minute=2), replace(captures[2], minute=2)]
    captures.append(Capture("c", 2, 2, log[:now], quorum_epoch=1))
    quorum = _with_finding(torn, "zero-hole", captures=captures)
    assert [one.key.node_id for one in quorum.in_doubt(VoterDoubt.STALE)] == stale


@pytest.mark.parametrize(("leader", "stale"), [(2, [2]), (1, [])])
def test_a_leader_whose_log_lacks_what_it_wrote_is_told_as_of_its_directory(
    leader: int, stale: list[int]
) -> None:
    """A record of these logs has a time of a second after the one before it."""
    log = (Batch(0, 0, 1, leader=leader), *(Batch(10 * at - 9, 10 * at, 1) for at in range(1, 6)))
    captures = [Capture("c", node, 0, log, quorum_epoch=1) for node in (1, 3)]
    captures.append(Capture("c", 2, 0, log[:2], quorum_epoch=1))
    gold = gold_of(tables_of(captures), "c")
    assert [one.key.node_id for one in gold.quorum.in_doubt(VoterDoubt.STALE)] == stale
    found = [row for row in gold.findings if row["rule"] == "leader-lacks-own-records"]
    assert [row["node_id"] for row in found] == stale
    told = (
        "its own log goes up to offset 10, while others hold what it wrote up to offset 50, 40.0 s"
    )
    assert all(told in row["message"] for row in found)
    behind = [row["message"] for row in gold.findings if row["rule"] == "voter-behind"]
    ends = "voter 2: its log goes up to offset 10, and ends 40.0 s before the newest log; since "
    lacks = (row["message"] for row in gold.findings if row["rule"] in LACKING)
    assert all(" UTC it lacks offsets 11 to 50" in one for one in lacks)
    assert [one.startswith(ends) for one in behind] == [True] * (not stale)


def test_a_disk_that_lost_committed_records_is_stale_though_it_learned_of_newer_epochs() -> None:
    """As where a restored disk ran on, and was captured again."""
    log = (Batch(0, 0, 1, leader=1), *(Batch(10 * at - 9, 10 * at, 1) for at in range(1, 6)))
    captures = [Capture("c", node, 0, log, quorum_epoch=1) for node in (1, 2, 3)]
    captures += [Capture("c", 2, minute, log[: 1 + minute], quorum_epoch=5) for minute in (1, 2)]
    captures += [replace(one, minute=2) for one in captures[0:3:2]]
    quorum = gold_of(tables_of(captures), "c").quorum
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert (stale.key.node_id, stale.went_back and stale.went_back.end_before) == (2, 51)


def _status(node_id: int, capture_id: str, end: int) -> dict[str, object]:
    replica = {"node_id": node_id, "directory_id": f"disk-{node_id}"}
    return {**replica, "capture_id": capture_id, "log_end_offset": end}


def test_a_disk_that_went_back_is_compared_with_logs_that_stayed_as_they_were() -> None:
    """The other replicas' newest captures have the bytes, and so the ids, of earlier captures."""
    status = [
        *(_status(node, f"{node}-short", 5) for node in (1, 2, 3)),
        *(_status(node, f"{node}-long", 10) for node in (1, 2, 3)),
    ]
    ids = ["1-long", "2-long", "3-long"]
    assert furthest_captures(status, (), {"1-long", "2-long", "3-short"}, {}) == (ids, ids)
    assert furthest_captures(status, (), set(ids), {}) == ([], [])
