"""What the tables prove about a quorum whose files are damaged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipelines.tables.bronze import FINDINGS
from replica.doctor.quorum.known_quorum import KnownQuorum, VoterDoubt
from tests.pipelines.cluster.looks import gold_of, tables_of
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Batch, Look, epoch

SEGMENT = "node/__cluster_metadata-0/00000000000000000000.log"
SNAPSHOT = "node/__cluster_metadata-0/00000000000000000010-0000000001.checkpoint"
LOOKS = tuple(
    Look("c", node, minute, epoch(1, 1, 0, 10), quorum_epoch=1)
    for minute in (0, 1)
    for node in (1, 2, 3)
)


def _with_finding(
    look: Look, rule: str = "crc-mismatch", file: str = SEGMENT, *, looks: Sequence[Look] = LOOKS
) -> KnownQuorum:
    """The quorum, where a rule has found something in the capture of a look."""
    row = {**look.replica, "capture_id": look.capture_id, "rule": rule, "file": file}
    found = bronze_tables({FINDINGS: [{**row, "severity": "error", "message": "made"}]})
    return gold_of({**tables_of(looks), FINDINGS: found[FINDINGS]}, "c").quorum


@pytest.mark.parametrize("rule", ["crc-mismatch", "zero-hole", "offset-gap", "segment-name"])
def test_a_voter_whose_log_can_not_be_read_is_counted_for_no_majority(rule: str) -> None:
    quorum = _with_finding(LOOKS[4], rule)
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
    assert not _with_finding(LOOKS[4], rule, file).missing


def test_damage_that_the_newest_capture_does_not_show_any_more_is_no_doubt() -> None:
    longer = (*epoch(1, 1, 0, 10), Batch(10, 11, 1))
    looks = (*LOOKS[:3], Look("c", 2, 1, longer, quorum_epoch=1))
    assert not _with_finding(looks[1], looks=looks).in_doubt(VoterDoubt.UNREADABLE)
