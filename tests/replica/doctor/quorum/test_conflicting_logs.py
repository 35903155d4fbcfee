"""Where logs conflict, a plan is refused and nothing is called never committed."""

from dataclasses import replace

from replica.doctor.quorum.histories import MixedLogs, mixes_in, sides_of
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


def _of(key, *entries):
    """A log of one record for each entry: its epoch, and its history."""
    batches = (LogBatch(at, at, epoch, (at, epoch, of)) for at, (epoch, of) in enumerate(entries))
    return ReplicaLog(key, 0, tuple(batches), quorum_epoch=entries[-1][0], voter_sets=(VOTERS,))


_BEFORE = [(1, "")]
_FIRST = [*_BEFORE, (2, "first"), (3, "first"), (4, "first"), (5, "first"), (5, "first")]
_SECOND = [*_BEFORE, (2, "second"), (3, "second"), (5, "second"), (6, "second")]
_MIXED = [*_FIRST[:3], *_SECOND[3:]]


def test_a_log_that_mixes_two_histories_belongs_to_neither():
    broker, mixed = (ReplicaKey(node, f"directory-{node}") for node in (13, 11))
    logs = [_of(ONE, *_SECOND), _of(TWO, *_SECOND[:-1]), _of(THREE, *_FIRST), _of(broker, *_FIRST)]
    logs.append(_of(mixed, *_MIXED))
    for given in (logs, logs[::-1]):
        conflicts = plan_recovery(given).quorum.conflicts
        assert sides_of(conflicts) == [[1, 2], [3, 13]]
        assert mixes_in(conflicts) == [MixedLogs((11,), 1, 3, (3, 13), (1, 2))]


def test_a_mix_conflicts_with_the_history_it_left_by_an_epoch_that_begins_twice():
    """The other history isn't given, so what can be known is that the two logs aren't one."""
    mixed = ReplicaKey(11, "directory-11")
    plan = plan_recovery([_of(THREE, *_FIRST), _of(mixed, *_MIXED)])
    (conflict,) = plan.quorum.conflicts
    assert (conflict.offset, sides_of(plan.quorum.conflicts)) == (3, [[3], [11]])
    assert plan.answer is RecoveryDecision.REFUSED


def test_no_log_is_a_mix_where_a_third_log_shows_only_what_was_never_committed():
    """The third log ends where the two are the same again: either of the two may be the mix."""
    mixed = ReplicaKey(11, "directory-11")
    plan = plan_recovery([_of(ONE, *_SECOND), _of(THREE, *_FIRST[:3]), _of(mixed, *_MIXED)])
    assert plan.quorum.conflicts
    assert mixes_in(plan.quorum.conflicts) == []
    assert sides_of(plan.quorum.conflicts) == [[1], [3], [11]], "none goes on with a doubtful log"


def test_the_log_of_the_leader_who_wrote_on_shows_which_log_is_the_mix():
    mixed = ReplicaKey(11, "directory-11")
    second = replace(_of(ONE, *_SECOND), led_epochs=frozenset({5}))
    plan = plan_recovery([second, _of(THREE, *_FIRST[:3]), _of(mixed, *_MIXED)])
    assert sides_of(plan.quorum.conflicts) == [[1], [3]]
    assert mixes_in(plan.quorum.conflicts) == [MixedLogs((11,), 1, 3, (3,), (1,))]
    plan = plan_recovery([second, _of(mixed, *_MIXED)])
    assert mixes_in(plan.quorum.conflicts) == [MixedLogs((11,), 1, 3, (), (1,))]
