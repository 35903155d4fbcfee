"""Plans for the replicas that are left: what they call safe loses nothing that was committed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.errors import UsageError
from replica.history.commitment import EntryCommitment, Losses
from replica.history.divergence import Relation
from replica.history.log import LogBatch, OffsetRange, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import VotersAt
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.history.test_random_histories import QUICK, SEEDS, entries_of, model_of

ONE, TWO, THREE = (ReplicaKey(node, f"directory-{node}") for node in (1, 2, 3))
VOTERS = VotersAt(-1, 0, frozenset({ONE, TWO, THREE}))


def log(key, *epochs, quorum_epoch=None, **changed):
    """A batch of one record for each epoch."""
    batches = tuple(
        LogBatch(offset, offset, epoch, (offset, epoch)) for offset, epoch in enumerate(epochs)
    )
    known = quorum_epoch if quorum_epoch is not None else max(epochs, default=0)
    return ReplicaLog(
        key,
        changed.pop("log_start", 0),
        batches,
        quorum_epoch=known,
        voter_sets=changed.pop("voter_sets", (VOTERS,)),
        **changed,
    )


def order(plan):
    return [standing.log.key.node_id for standing in plan.ranking]


@QUICK
@given(SEEDS, st.integers(0, 2**16))
def test_a_plan_called_safe_keeps_what_any_node_knew_to_be_committed(seed, chosen):
    model = model_of(seed)
    drawn = random.Random(chosen)
    keys = sorted(model.nodes)
    left = drawn.sample(keys, drawn.randint(1, len(keys)))
    plan = plan_recovery([model.capture(model.nodes[key]) for key in left])
    if plan.answer is not RecoveryDecision.SAFE:
        return
    kept = model.nodes[plan.winner.key].log
    for node in model.nodes.values():
        assert kept[: node.committed] == node.log[: node.committed]


@QUICK
@given(SEEDS)
def test_all_replicas_of_a_raft_run_make_a_safe_plan(seed):
    model = model_of(seed)
    logs = [model.capture(node) for node in model.nodes.values()]
    plan = plan_recovery(logs)
    assert plan.answer is not RecoveryDecision.REFUSED, plan.reasons
    assert plan.outvoted.isdisjoint(plan.electable)
    if plan.voters is not None:
        assert plan.quorum.has_majority
        assert plan.missing == frozenset()


@QUICK
@given(SEEDS, st.randoms())
def test_the_order_of_the_replicas_decides_nothing(seed, shuffled):
    model = model_of(seed)
    logs = [model.capture(node) for node in model.nodes.values()]
    again = list(logs)
    shuffled.shuffle(again)
    assert plan_recovery(logs) == plan_recovery(again)


@QUICK
@given(SEEDS)
def test_at_risk_is_what_the_winner_lacks_offset_by_offset(seed):
    model = model_of(seed)
    plan = plan_recovery([model.capture(node) for node in model.nodes.values()])
    winner = entries_of(plan.winner)
    for standing in plan.ranking[1:]:
        own = entries_of(standing.log)
        missing = {
            offset
            for offset, entry in own.items()
            if offset >= plan.winner.log_start and winner.get(offset) != entry
        }
        assert {o for r in standing.at_risk for o in range(r.start, r.end)} == missing
        lost = standing.lost
        assert lost.committed + lost.unproven + lost.superseded == len(missing)


def test_the_newest_epoch_wins_over_the_longest_log():
    plan = plan_recovery([log(ONE, 1, 1, 1, 1, 1), log(TWO, 1, 1, 2)])
    assert order(plan) == [2, 1]
    assert plan.answer is RecoveryDecision.SAFE
    assert plan.ranking[1].relation is Relation.DIVERGED
    assert plan.ranking[1].at_risk == (OffsetRange(2, 5),)
    assert (plan.missing, plan.has_majority) == (frozenset({THREE}), True)


def test_one_of_three_proves_nothing_about_what_is_gone():
    plan = plan_recovery([log(TWO, 1, 1, 2)])
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.missing == {ONE, THREE}
    assert plan.reasons == (
        "only 1 of 3 voters can be relied on, which is no majority: the others may have held "
        "committed records that nobody here knows of",
    )


def test_a_wiped_disk_is_not_the_voter_that_it_was():
    wiped = ReplicaKey(1, "another-directory")
    plan = plan_recovery([log(wiped, voter_sets=()), log(TWO, 1, 1, 2)])
    assert order(plan) == [2, 1]
    assert [standing.is_voter for standing in plan.ranking] == [True, False]
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.missing == {ONE, THREE}


def test_a_log_that_cannot_be_read_whole_counts_as_gone_and_wins_only_alone():
    whole, cut = log(ONE, 1, 1), log(TWO, 1, 1, 1)
    plan = plan_recovery([whole, cut], QuorumFiles(frozenset({TWO})))
    assert order(plan) == [1, 2]
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.missing == {TWO, THREE}
    alone = plan_recovery([cut], QuorumFiles(frozenset({TWO})))
    assert alone.answer is RecoveryDecision.REFUSED
    assert alone.reasons[0] == (
        "part of the log of node 2 (directory-2) is not here or can't be read, and there is no "
        "better one"
    )


def test_committed_records_that_the_winner_lacks_refuse_the_plan():
    """As after an unclean restore: 1 and 2 are a majority in epoch 1, yet 3 leads a newer one."""
    held = log(ONE, 1, 1, 1), log(TWO, 1, 1, 1)
    plan = plan_recovery([*held, log(THREE, 1, 2, quorum_epoch=2)])
    assert order(plan)[0] == 3
    assert plan.answer is RecoveryDecision.REFUSED
    assert "2 records that are proven committed are on node 1" in plan.reasons[0]


def test_a_voter_that_may_win_without_committed_records_refuses_the_plan():
    """The snapshot proves that a majority had the first three records. One of 1 and 3 had them, and
    its disk is older than it was; with the other's vote 3 may win without them."""
    snapshot = OffsetAndEpoch(3, 1)
    logs = [log(ONE, 1), log(TWO, 1, 1, 1, 1, snapshots=(snapshot,)), log(THREE, 1, 1)]
    plan = plan_recovery(logs)
    assert order(plan)[0] == 2
    assert plan.answer is RecoveryDecision.REFUSED
    assert plan.reasons == (
        "node 3 (directory-3) may win the election, and lacks 1 committed record of node 2 "
        "(directory-2): the disk of node 1 or 3 is older than it was, or was emptied",
    )
    assert plan_recovery([logs[0], logs[1], log(THREE, 1, 1, 1)]).answer is RecoveryDecision.SAFE


def test_two_histories_of_one_epoch_refuse_the_plan():
    other = log(TWO, 1, 1)
    changed = LogBatch(1, 1, 1, "other bytes")
    plan = plan_recovery(
        [log(ONE, 1, 1, 1), ReplicaLog(TWO, 0, (other.batches[0], changed), quorum_epoch=1)]
    )
    assert plan.answer is RecoveryDecision.REFUSED
    assert "which no run of Raft leaves" in plan.reasons[0]


def test_a_change_of_voters_that_may_not_be_committed_needs_a_majority_of_both_sets():
    four = ReplicaKey(4, "directory-4")
    added = VotersAt(1, 1, VOTERS.voters | {four})
    sets = {"voter_sets": (VOTERS, added)}
    three_left = [log(ONE, 1, 1, **sets), log(TWO, 1), log(four, 1)]
    assert plan_recovery(three_left).answer is RecoveryDecision.SAFE
    removed = VotersAt(1, 1, frozenset({ONE, TWO}))
    sets = {"voter_sets": (VOTERS, removed)}
    assert plan_recovery([log(ONE, 1, 1, **sets), log(TWO, 1)]).answer is RecoveryDecision.SAFE
    alone = plan_recovery([log(ONE, 1, 1, **sets), log(THREE, 1)])
    assert alone.electable == (), "3 and 1 are a majority of the old voters alone"


def test_records_below_the_winners_snapshot_are_not_at_risk():
    ahead = log(ONE, log_start=4, snapshots=(OffsetAndEpoch(4, 2),))
    plan = plan_recovery([ahead, log(TWO, 1, 1, 2)])
    assert order(plan) == [1, 2]
    assert plan.ranking[1].at_risk == ()


OBSERVER = ReplicaKey(11, "directory-11")


def test_only_a_voter_leads_and_what_an_observer_alone_holds_was_never_committed():
    """A majority of the voters is left: what they lack, none of them can have acknowledged."""
    observer = log(OBSERVER, 1, 1, 2, 2)
    plan = plan_recovery([observer, log(ONE, 1, 1), log(TWO, 1, 1, 2)])
    assert order(plan) == [2, 11, 1]
    assert plan.answer is RecoveryDecision.SAFE
    assert plan.leader is plan.winner
    ahead = plan.ranking[1]
    assert (ahead.is_voter, ahead.at_risk, ahead.truncates_to) == (False, (OffsetRange(3, 4),), 3)


def test_without_a_majority_the_newest_log_is_the_one_to_go_on_with_and_nobody_leads():
    plan = plan_recovery([log(TWO, 1, 1), log(OBSERVER, 1, 2, 2)])
    assert order(plan) == [11, 2]
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.leader is None
    stale = plan.ranking[1]
    assert (stale.at_risk, stale.truncates_to) == ((OffsetRange(1, 2),), 1)
    assert plan.on_no_voter == (OffsetRange(1, 3),)
    assert plan.on_no_voter_counts == Losses(committed=0, unproven=2, superseded=0)


def test_what_one_of_two_voters_lacks_was_not_committed_whatever_the_lost_one_held():
    of_two = (VotersAt(-1, 0, frozenset({ONE, TWO})),)
    observer = log(OBSERVER, 1, 2, 2, 2, voter_sets=of_two)
    plan = plan_recovery([log(TWO, 1, 2, voter_sets=of_two), observer])
    assert (plan.winner.key, plan.quorum.possible_end) == (OBSERVER, 2)
    assert plan.on_no_voter_counts == Losses(committed=0, unproven=0, superseded=2)
    of_three = plan_recovery([log(TWO, 1, 2), log(OBSERVER, 1, 2, 2, 2)])
    assert of_three.on_no_voter_counts == Losses(committed=0, unproven=2, superseded=0)


def test_a_snapshot_proves_records_committed_that_only_an_observer_holds():
    observer = log(OBSERVER, 1, 2, 2, snapshots=(OffsetAndEpoch(2, 2),))
    plan = plan_recovery([log(TWO, 1, 1), observer])
    assert plan.on_no_voter_counts == Losses(committed=1, unproven=1, superseded=0)
    assert plan_recovery([log(TWO, 1, 1, 1), log(OBSERVER, 1, 1)]).on_no_voter == ()


def test_of_equal_logs_the_voters_comes_first():
    first = ReplicaKey(0, "directory-0")
    plan = plan_recovery([log(first, 1, 1), log(TWO, 1, 1)])
    assert order(plan) == [2, 0]
    assert plan.ranking[1].truncates_to is None


def test_a_snapshot_that_is_newer_than_every_voter_of_a_majority_refuses_the_plan():
    """What it contains is committed, so one of the voters has forgotten what it acknowledged."""
    observer = log(OBSERVER, log_start=9, snapshots=(OffsetAndEpoch(9, 2),))
    plan = plan_recovery([observer, log(ONE, 1, 1), log(TWO, 1, 1, 2)])
    assert order(plan)[0] == 2
    assert plan.answer is RecoveryDecision.REFUSED
    assert plan.reasons == (
        "snapshot 9-2 of node 11 (directory-11) is newer than the log of node 2 (directory-2): "
        "committed records are in it that no voter here holds",
    )


def test_a_voter_that_was_removed_does_not_lead():
    removed = VotersAt(2, 2, frozenset({TWO, THREE}))
    sets = {"voter_sets": (VOTERS, removed)}
    logs = [log(ONE, 1, 1, 2, 2, **sets), log(TWO, 1, 1, 2, **sets), log(THREE, 1, 1, 2, **sets)]
    plan = plan_recovery(logs)
    assert order(plan) == [2, 1, 3]
    assert (plan.answer, plan.leader) == (RecoveryDecision.SAFE, logs[1])


def test_a_log_that_is_given_a_snapshot_is_emptied():
    trimmed = log(TWO, log_start=3, quorum_epoch=2, snapshots=(OffsetAndEpoch(3, 2),))
    plan = plan_recovery([trimmed, log(ONE, 1, 1)])
    behind = plan.ranking[1]
    assert (behind.at_risk, behind.snapshot_id) == ((), OffsetAndEpoch(3, 2))


def test_no_replica_is_no_plan():
    with pytest.raises(UsageError, match="no replica to go on with"):
        plan_recovery([])


FOUR, FIVE = (ReplicaKey(node, f"directory-{node}") for node in (4, 5))
OF_FIVE = {"voter_sets": (VotersAt(-1, 0, frozenset({ONE, TWO, THREE, FOUR, FIVE})),)}


def test_every_voter_whose_log_a_majority_accepts_may_win_and_the_tail_may_be_lost():
    short = [log(key, 1, 1, **OF_FIVE) for key in (ONE, TWO, FOUR, FIVE)]
    plan = plan_recovery([log(THREE, 1, 1, 1, **OF_FIVE), *short])
    assert plan.answer is RecoveryDecision.SAFE
    assert plan.electable == (THREE, ONE, TWO, FOUR, FIVE)
    assert plan.ranking[0].may_lose == (OffsetRange(2, 3),)
    assert [standing.may_lose for standing in plan.ranking[1:]] == [()] * 4
    by_one = {standing.log.key: standing for standing in plan.led_by[ONE]}
    assert by_one[THREE].at_risk == (OffsetRange(2, 3),)
    assert by_one[THREE].truncates_to == 2


def test_what_a_voter_lacks_that_may_win_was_never_committed():
    plan = plan_recovery([log(ONE, 1, 1, 1, 1), log(TWO, 1, 1, 1), log(THREE, 1, 1)])
    assert plan.answer is RecoveryDecision.SAFE
    two_leads = {one.log.key: one.lost for one in plan.led_by[TWO]}
    assert two_leads[ONE] == Losses(committed=0, unproven=0, superseded=1)
    assert plan.commitment.ranges(ONE, EntryCommitment.SUPERSEDED) == (OffsetRange(3, 4),)


def test_without_a_majority_nobody_knows_what_was_committed():
    plan = plan_recovery([log(ONE, 1, 1, 2), log(ReplicaKey(11, "observer"), 1, 1, 1)])
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.ranking[1].lost == Losses(committed=0, unproven=1, superseded=0)


def test_a_log_that_no_majority_accepts_does_not_win():
    plan = plan_recovery([log(ONE, 1, 1, 1), log(TWO, 1, 1, 1), log(THREE, 1, 1)])
    assert plan.electable == (ONE, TWO)
    assert all(standing.may_lose == () for standing in plan.ranking)
    assert plan.is_whole


def test_with_a_bare_majority_the_best_log_alone_wins():
    assert plan_recovery([log(ONE, 1, 1, 1), log(TWO, 1, 1)]).electable == (ONE,)


def test_a_voter_that_forgot_its_vote_is_no_part_of_a_majority():
    logs = [log(ONE, 1, 3), log(TWO, 1)]
    assert plan_recovery(logs).answer is RecoveryDecision.SAFE
    plan = plan_recovery(logs, QuorumFiles(attested={TWO: 3}))
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert plan.missing == {TWO, THREE}
    assert "only 1 of 3 voters can be relied on" in plan.reasons[0]
    all_three = plan_recovery([*logs, log(THREE, 1, 3)], QuorumFiles(attested={TWO: 3}))
    assert all_three.answer is RecoveryDecision.SAFE
    assert all_three.electable == (ONE, THREE)
    assert not all_three.is_whole


def test_a_leaving_voter_that_forgot_its_vote_leaves_something_to_recover():
    # by its own log 1 is a voter, and the log of 2 is no better: 1 would win, and 3 lose its tail
    removed = VotersAt(2, 2, frozenset({TWO, THREE}))
    longest = log(THREE, 1, 1, 2, quorum_epoch=3, voter_sets=(VOTERS, removed))
    logs = [longest, log(TWO, 1), log(ONE, 1, 1)]
    trusted = plan_recovery(logs)
    assert (trusted.electable, trusted.is_whole) == ((THREE, ONE), True)
    plan = plan_recovery(logs, QuorumFiles(attested={ONE: 3}))
    assert (plan.answer, plan.electable) == (RecoveryDecision.SAFE, (THREE,))
    assert [voter.key for voter in plan.doubted] == [ONE]
    assert not plan.is_whole


def test_a_voter_without_quorum_state_is_no_part_of_a_majority():
    unknown = log(TWO, 1, 1, quorum_epoch=UNDEFINED_EPOCH)
    assert plan_recovery([log(ONE, 1, 1), unknown]).answer is RecoveryDecision.UNPROVEN
    plan = plan_recovery([log(ONE, 1, 1), unknown, log(THREE, 1, 1)])
    assert (plan.answer, plan.electable) == (RecoveryDecision.SAFE, (ONE, THREE))


def test_nobody_wins_where_a_candidate_needs_the_vote_of_a_better_log():
    # 1 led, appended its own removal, and was cut off: 1 is no voter by its own log, and 2, which
    # still needs a vote of 1, has the worse log.
    both, other = frozenset({ONE, TWO}), frozenset({TWO})
    removed = log(ONE, 1, 1, 1, voter_sets=(VotersAt(-1, 0, both), VotersAt(2, 1, other)))
    plan = plan_recovery([removed, log(TWO, 1, 1, voter_sets=(VotersAt(-1, 0, both),))])
    assert plan.electable == ()
    assert plan.answer is RecoveryDecision.UNPROVEN
    assert "no voter that is left can win an election" in plan.reasons[-1]


@QUICK
@given(SEEDS, st.integers(0, 2**16))
def test_whoever_may_win_keeps_what_any_node_knew_to_be_committed(seed, chosen):
    model = model_of(seed)
    keys = sorted(model.nodes)
    drawn = random.Random(chosen)
    left = drawn.sample(keys, drawn.randint(1, len(keys)))
    plan = plan_recovery([model.capture(model.nodes[key]) for key in left])
    for key in plan.electable:
        kept = model.nodes[key].log
        for node in model.nodes.values():
            assert kept[: node.committed] == node.log[: node.committed]


@QUICK
@given(SEEDS, st.integers(0, 2**16))
def test_what_a_safe_plan_calls_never_committed_no_node_knew_to_be_committed(seed, chosen):
    model = model_of(seed)
    drawn = random.Random(chosen)
    keys = sorted(model.nodes)
    left = drawn.sample(keys, drawn.randint(1, len(keys)))
    plan = plan_recovery([model.capture(model.nodes[key]) for key in left])
    if plan.answer is not RecoveryDecision.SAFE:
        return
    assert not any(one.lost.unproven for each in plan.led_by.values() for one in each)
    committed = {
        entry.batch for node in model.nodes.values() for entry in node.log[: node.committed]
    }
    for key in left:
        for entry in model.nodes[key].log:
            verdict = plan.commitment.verdict_at(key, entry.batch.base_offset)
            assert verdict is not EntryCommitment.SUPERSEDED or entry.batch not in committed
