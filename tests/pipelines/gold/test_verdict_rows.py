"""What a row of gold.verdicts says about a quorum."""

from __future__ import annotations

from pipelines.gold.verdict_rows import quorum_in
from replica.doctor.check.catalogue import health
from tests.replica.doctor.health.clusters import judged


def test_a_row_that_says_that_the_leader_gave_up_names_no_node() -> None:
    row = {
        "facts": [{"rules": [health.LEADER_GAVE_UP.id]}],
        "voters": [], "conflicts": [], "contested": [], "proven_end": 0, "possible_end": 0,
    }  # fmt: skip
    quorum = quorum_in(row)
    assert (quorum.is_leaderless, quorum.gave_up) == (True, None)
    found = judged([], quorum=quorum)
    assert found["leader-gave-up"].message.startswith("the last leader gave up")
    assert not quorum_in({**row, "facts": []}).is_leaderless
