"""Where logs conflict, a plan is refused and nothing is called never committed."""

from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.history.commitment import Losses
from replica.history.log import LogBatch, ReplicaLog
from replica.model.keys import ReplicaKey
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.doctor.quorum.test_recovery import ONE, THREE, TWO, VOTERS, log


def test_two_histories_refuse_the_plan_though_the_winner_has_neither():
    changed = ReplicaLog(
        ReplicaKey(4, "directory-4"),
        0,
        (*log(ONE, 1, 1).batches, LogBatch(2, 2, 2, "other bytes")),
        quorum_epoch=2,
    )
    plan = plan_recovery([log(ONE, 1, 1, 3), log(TWO, 1, 1, 3), log(THREE, 1, 1, 2), changed])
    assert plan.answer is RecoveryDecision.REFUSED
    assert "which no run of Raft leaves" in plan.reasons[0]


def test_no_disk_is_called_older_by_what_a_conflicting_history_shows():
    """Node 4's log, of the quorum before, says that voter 1 led epoch 2 there."""
    before = ReplicaLog(ReplicaKey(4, "directory-4"), 0, (LogBatch(0, 0, 1, "before"),), (), 1)
    logs = [*(log(key, 1, 1) for key in (ONE, TWO, THREE)), before]
    plan = plan_recovery(logs, QuorumFiles(attested={ONE: 2}))
    assert plan.quorum.conflicts
    assert not plan.doubted
    assert plan.answer is RecoveryDecision.REFUSED


def test_of_what_a_conflicting_history_holds_nothing_is_called_never_committed():
    """The voters were formatted anew; node 4 followed the quorum that was there before."""
    before = ReplicaLog(
        ReplicaKey(4, "directory-4"),
        0,
        tuple(LogBatch(offset, offset, 1, f"before {offset}") for offset in range(4)),
        quorum_epoch=1,
        voter_sets=(VOTERS,),
    )
    plan = plan_recovery([log(key, 1, 1) for key in (ONE, TWO, THREE)] + [before])
    lost = {each.log.key.node_id: each.lost for each in plan.ranking}
    assert lost[4] == Losses(committed=0, unproven=4, superseded=0)
