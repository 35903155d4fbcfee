"""A replica that no election can make leader: nobody's log is truncated to follow it."""

from replica.doctor.check.known_quorum import ComparedLogs
from replica.doctor.check.lineage import judge_parting, partings_of
from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.history.commitment import classify_compared, compare_group
from replica.history.log import VotersAt
from replica.model.keys import ReplicaKey
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.doctor.quorum.test_recovery import ONE, THREE, TWO, log

OBSERVER = ReplicaKey(11, "directory-11")
LOGS = [log(ONE, 1, 1, 6), log(TWO, 1, 1, 6), log(THREE, 1, 3), log(OBSERVER, 1, 1)]
"""3 led epoch 3 without a majority, and was down since; 11 was down since epoch 1."""


def rules(logs) -> set[tuple[int, str]]:
    group = compare_group(logs)
    partings = partings_of(ComparedLogs((), group, classify_compared(group)))
    return {
        (one.loser.node_id, found.rule.id)
        for one, others in partings.items()
        for found in judge_parting(one, others)
    }


def test_a_log_that_a_majority_is_ahead_of_truncates_nobody_s_committed_records():
    assert plan_recovery(LOGS).outvoted == {THREE, OBSERVER}
    assert {rule for _, rule in rules(LOGS)} == {"log-divergence"}


def test_a_log_that_may_win_puts_committed_records_at_risk():
    alone = [log(ONE, 1, 1), log(TWO, 1, 1), log(THREE, 1, 3)]
    assert plan_recovery(alone).outvoted == frozenset()
    assert "committed-data-at-risk" in {rule for _, rule in rules(alone)}


def test_voters_that_forgot_their_votes_outvote_nobody():
    plan = plan_recovery(LOGS, QuorumFiles(attested={TWO: 7}))
    assert THREE not in plan.outvoted


def test_a_candidate_asks_the_voters_that_its_own_log_names():
    alone = (VotersAt(-1, 0, frozenset({THREE})),)
    logs = [*LOGS[:2], log(THREE, 1, 3, voter_sets=alone)]
    assert plan_recovery(logs).outvoted == frozenset()
