"""What the tables prove about a quorum whose files are damaged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipelines.tables.bronze import FINDINGS
from replica.doctor.quorum.known_quorum import KnownQuorum, VoterDoubt
from tests.pipelines.cluster.captures import gold_of, tables_of
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Batch, Capture, epoch

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
