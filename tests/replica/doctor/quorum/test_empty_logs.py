"""A quorum never goes on with a log that holds no record where another one holds some."""

import pytest

from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.recovery import RecoveryDecision
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.doctor.quorum.test_recovery import ONE, THREE, TWO, log, order


@pytest.mark.parametrize("empty", [(TWO,), (TWO, THREE)])
def test_a_new_empty_log_never_comes_before_one_that_holds_records(empty):
    damaged = log(ONE, 1, 1, 1)
    logs = [log(key, voter_sets=(), quorum_epoch=1) for key in empty]
    files = QuorumFiles(unreadable=frozenset({ONE}))
    plan = plan_recovery([*logs, damaged], files)
    assert order(plan)[0] == 1
    assert plan.quorum.newest == ONE
    assert plan.answer is RecoveryDecision.REFUSED
