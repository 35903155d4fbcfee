"""Half of an even number of voters elects nobody, and holds every record that was committed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.history.commitment import Losses
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import VotersAt
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.doctor.quorum.test_recovery import ONE, TWO, VOTERS, log, order
from tests.replica.history.test_random_histories import QUICK, SEEDS, model_of

FOUR = ReplicaKey(4, "directory-4")


def log_of(node, *epochs, voters, is_static=True, **changed):
    """The log of a voter of this number of voters."""
    directories = [ZERO_UUID if is_static else f"directory-{one}" for one in range(voters + 1)]
    keys = (ReplicaKey(one, directories[one]) for one in range(1, voters + 1))
    named = (VotersAt(-1, 0, frozenset(keys)),)
    key = ReplicaKey(node, f"directory-{node}")
    if is_static:
        return log(key, *epochs, voter_sets=(), leader_changes=named, **changed)
    return log(key, *epochs, voter_sets=named, **changed)


@pytest.mark.parametrize("voters", [2, 4, 6])
def test_half_of_an_even_number_of_voters_holds_every_committed_record(voters):
    half = range(1, voters // 2 + 1)
    logs = [log_of(node, 1, 1, 2, voters=voters) for node in half]
    plan = plan_recovery(logs)
    assert (plan.answer, plan.electable) == (RecoveryDecision.SAFE, ())
    (why,) = plan.reasons
    nodes = {2: "node 1 is", 4: "nodes 1 and 2 are", 6: "nodes 1, 2 and 3 are"}[voters]
    assert why.startswith(f"{nodes} half of the {voters} voters: ")
    assert why.endswith(", and nobody is elected before one more voter runs")
    fewer = plan_recovery(logs[1:] or [log_of(voters + 1, 1, 1, 2, voters=voters)])
    assert fewer.answer is RecoveryDecision.UNPROVEN, "the others may hold more"
    assert not fewer.rests_on_same_voters


def test_half_of_the_voters_may_have_been_voted_out_by_the_others():
    """Of voters 1 to 4, node 3 led, and removed node 1: then 3 and 4 are a majority without 1 and
    2. A plan that has the log of the last leader, and no later vote, knows that none did so."""
    logs = [log_of(node, 1, 1, voters=4, is_static=False) for node in (1, 2)]
    plan = plan_recovery(logs)
    assert (plan.answer, plan.rests_on_same_voters) == (RecoveryDecision.UNPROVEN, True)

    def of_leader(**state):
        led = log_of(1, 1, 1, voters=4, is_static=False, led_epochs=frozenset({1}), **state)
        return plan_recovery([led, logs[1]]).answer

    assert of_leader() is RecoveryDecision.SAFE
    assert of_leader(quorum_epoch=2) is RecoveryDecision.SAFE, "it gave up, and voted for nobody"
    assert of_leader(quorum_epoch=2, quorum_vote=2) is RecoveryDecision.SAFE
    assert of_leader(quorum_epoch=2, quorum_vote=3) is RecoveryDecision.UNPROVEN
    assert of_leader(quorum_epoch=2, quorum_leader=4) is RecoveryDecision.UNPROVEN
    assert of_leader(quorum_epoch=3) is RecoveryDecision.UNPROVEN, "whom it voted for in epoch 2?"


@QUICK
@given(SEEDS, st.integers(0, 2**16))
def test_half_that_is_called_safe_keeps_what_any_node_knew_to_be_committed(seed, chosen):
    model = model_of(seed)
    keys = sorted(model.nodes)
    left = random.Random(chosen).sample(keys, max(len(keys) // 2, 1))
    plan = plan_recovery([model.capture(model.nodes[key]) for key in left])
    if plan.answer is not RecoveryDecision.SAFE:
        return
    kept = model.nodes[plan.winner.key].log
    for node in model.nodes.values():
        assert kept[: node.committed] == node.log[: node.committed]


def test_less_than_half_of_the_voters_may_lack_committed_records():
    for voters, left in ((3, 1), (5, 2), (4, 1)):
        logs = [log_of(node, 1, 1, voters=voters) for node in range(1, left + 1)]
        assert plan_recovery(logs).answer is RecoveryDecision.UNPROVEN, voters


def test_half_of_which_one_disk_can_not_be_relied_on_holds_not_all():
    logs = [log_of(1, 1, 1, 2, voters=4), log_of(2, 1, 1, voters=4)]
    files = QuorumFiles(attested={ReplicaKey(2, "directory-2"): 3})
    assert plan_recovery(logs).answer is RecoveryDecision.SAFE
    assert plan_recovery(logs, files).answer is RecoveryDecision.UNPROVEN
    unreadable = QuorumFiles(unreadable=frozenset({ReplicaKey(2, "directory-2")}))
    assert plan_recovery(logs, unreadable).answer is RecoveryDecision.UNPROVEN
    third = log_of(3, 1, 1, 2, voters=4)
    assert plan_recovery([*logs, third], files).answer is RecoveryDecision.SAFE


def test_what_the_newest_log_of_a_half_lacks_was_never_committed():
    """1 led epoch 1 and wrote alone; 2 then won an election."""
    plan = plan_recovery([log_of(1, 1, 1, 1, voters=4), log_of(2, 1, 2, voters=4)])
    assert (plan.answer, order(plan)) == (RecoveryDecision.SAFE, [2, 1])
    assert plan.ranking[1].lost == Losses(0, 0, 2)


def test_of_two_voter_sets_half_of_each_is_needed():
    added = VotersAt(2, 1, VOTERS.voters | {FOUR})
    sets = (VOTERS, added)
    two = [log(ONE, 1, 1, 1, voter_sets=sets), log(TWO, 1, 1, 1, voter_sets=sets)]
    assert plan_recovery(two).rests_on_same_voters, "2 of 3 and 2 of 4"
    other = VotersAt(2, 1, added.voters | {ReplicaKey(5, "directory-5")})
    sets = (added, other)
    two = [log(ONE, 1, 1, 1, voter_sets=sets), log(TWO, 1, 1, 1, voter_sets=sets)]
    assert not plan_recovery(two).rests_on_same_voters, "2 of 4, but only 2 of 5"
