"""What the replicas at hand prove about their quorum: voters, commitment, conflicts."""

from dataclasses import replace

import pytest
from hypothesis import given

from replica.doctor.quorum.histories import LogConflict
from replica.doctor.quorum.known_quorum import NO_FILES, QuorumFiles, known_quorum
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.went_back import WentBack
from replica.history.commitment import classify_compared, compare_group
from replica.history.log import LogBatch, OffsetRange, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import VotersAt
from tests.replica.history.test_random_histories import QUICK, SEEDS, model_of

KEYS = tuple(ReplicaKey(node, f"directory-{node}") for node in range(1, 6))
ONE, TWO, THREE, FOUR, FIVE = KEYS
OF_THREE = VotersAt(-1, 0, frozenset({ONE, TWO, THREE}))
OF_FIVE = VotersAt(-1, 0, frozenset(KEYS))


def log(key, *epochs, quorum_epoch=None, sets=(OF_THREE,), snapshots=()):
    """A batch of one record for each epoch."""
    batches = tuple(LogBatch(at, at, epoch, (at, epoch)) for at, epoch in enumerate(epochs))
    known = max(epochs, default=0) if quorum_epoch is None else quorum_epoch
    return ReplicaLog(key, 0, batches, snapshots, known, sets)


def known(*logs, files=NO_FILES):
    group = compare_group(logs)
    return known_quorum(group, classify_compared(group), files)


def doubts(quorum):
    return {voter.key.node_id: voter.doubt for voter in quorum.voters}


def test_voters_whose_disks_are_here_and_uncontradicted_are_without_doubt():
    quorum = known(log(ONE, 1, 1), log(TWO, 1, 1), log(THREE, 1))
    assert doubts(quorum) == {1: None, 2: None, 3: None}
    assert quorum.has_majority
    assert quorum.missing == frozenset()


def test_a_voter_that_forgot_a_leadership_or_a_vote_counts_for_no_majority():
    files = QuorumFiles(attested={TWO: 3})
    quorum = known(log(ONE, 1, 3), log(TWO, 1), files=files)
    assert doubts(quorum) == {1: None, 2: VoterDoubt.STALE, 3: VoterDoubt.NOT_GIVEN}
    assert not quorum.has_majority
    assert quorum.missing == {TWO, THREE}
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert (stale.known_epoch, stale.attested_epoch) == (1, 3)


def test_a_voter_that_a_change_takes_out_is_doubted_until_the_change_is_committed():
    static = frozenset(ReplicaKey(node) for node in (1, 2, 3))
    removed = VotersAt(1, 1, frozenset({TWO, THREE}))
    files = QuorumFiles(attested={ONE: 3})
    for before in (OF_THREE, VotersAt(-1, 0, static)):
        longest = log(THREE, 1, 1, quorum_epoch=3, sets=(before, removed))
        quorum = known(longest, log(TWO, 1, sets=(before,)), log(ONE, 1), files=files)
        assert doubts(quorum) == {2: None, 3: None}
        ((one,), (stale,)) = quorum.leaving, quorum.in_doubt(VoterDoubt.STALE)
        assert (one, one.key.node_id, one.doubt) == (stale, 1, VoterDoubt.STALE)
        assert known(longest, log(TWO, 1)).leaving == (), "it is not at hand"
    committed = [log(key, 1, 1, sets=(OF_THREE, removed)) for key in (TWO, THREE)]
    assert known(*committed, log(ONE, 1), files=files).leaving == ()


def test_a_vote_that_the_own_quorum_state_or_snapshot_knows_is_not_forgotten():
    files = QuorumFiles(attested={TWO: 3, THREE: 3})
    behind = log(TWO, 1, quorum_epoch=3)
    by_snapshot = log(THREE, 1, quorum_epoch=1, snapshots=(OffsetAndEpoch(2, 3),))
    quorum = known(log(ONE, 1, 3), behind, by_snapshot, files=files)
    assert doubts(quorum) == {1: None, 2: None, 3: None}


def test_a_static_voter_with_a_new_disk_has_forgotten_what_its_old_one_knew():
    static = VotersAt(0, 1, frozenset(ReplicaKey(node) for node in (1, 2, 3)))
    logs = [
        ReplicaLog(log(key, *epochs).key, 0, log(key, *epochs).batches, (), known_, (), (static,))
        for key, epochs, known_ in ((ONE, (1, 1), 1), (TWO, (1, 1), 1), (THREE, (), 0))
    ]
    quorum = known(*logs, files=QuorumFiles(attested={ReplicaKey(3): 1}))
    assert doubts(quorum) == {1: None, 2: None, 3: VoterDoubt.STALE}


def test_another_directory_of_a_node_is_not_the_voter_that_voted():
    files = QuorumFiles(attested={ReplicaKey(3, "the-disk-before"): 7})
    quorum = known(log(ONE, 1), log(TWO, 1), log(THREE, 1), files=files)
    assert doubts(quorum)[3] is None


def test_a_voter_without_quorum_state_may_have_voted_unseen():
    quorum = known(log(ONE, 1), log(TWO, 1, quorum_epoch=UNDEFINED_EPOCH))
    assert doubts(quorum)[2] is VoterDoubt.NO_QUORUM_STATE
    assert not quorum.has_majority


@pytest.mark.parametrize("unreadable", [frozenset(), frozenset({TWO})])
def test_a_voter_whose_quorum_state_is_older_than_its_log_may_have_voted_unseen(unreadable):
    """A voter persists an epoch before it appends a record of it, so this file was put back."""
    old = log(TWO, 1, 3, quorum_epoch=2)
    quorum = known(log(ONE, 1, 3), old, files=QuorumFiles(unreadable))
    assert doubts(quorum) == {1: None, 2: VoterDoubt.OLD_QUORUM_STATE, 3: VoterDoubt.NOT_GIVEN}
    assert not quorum.has_majority
    assert quorum.voters[1].why_doubted == (
        "its quorum-state is older than its log, so it may vote a second time in an epoch in which "
        "it voted already"
    )
    observer = log(ReplicaKey(9, "x"), 1, 3, quorum_epoch=2)
    assert ReplicaKey(9, "x") in known(log(ONE, 1, 3), log(TWO, 1, 3), observer).relied
    assert doubts(known(log(ONE, 1, 3), log(TWO, 1, 3, quorum_epoch=3)))[2] is None


def test_an_observer_needs_no_quorum_state_and_a_new_quorum_has_nothing_to_forget():
    observer = log(ReplicaKey(9, "x"), 1, quorum_epoch=UNDEFINED_EPOCH)
    assert ReplicaKey(9, "x") in known(log(ONE, 1), log(TWO, 1), observer).relied
    new = [log(key, quorum_epoch=UNDEFINED_EPOCH) for key in (ONE, TWO, THREE)]
    assert known(*new).has_majority


def test_a_log_that_cannot_be_read_whole_counts_for_no_majority():
    quorum = known(log(ONE, 1), log(TWO, 1), files=QuorumFiles(frozenset({TWO})))
    assert doubts(quorum)[2] is VoterDoubt.UNREADABLE
    assert quorum.newest == ONE


def test_a_disk_that_may_vote_twice_is_told_so_whether_or_not_its_log_can_be_read():
    """A log that can't be read may hold what it seems to lack, but its quorum-state has the newest
    epoch."""
    torn = frozenset({TWO})
    behind = log(TWO, 1, quorum_epoch=2)
    fell, shorter = WentBack(TWO, 2, 1, 3, 2, ()), WentBack(TWO, 2, 1, 2, 2, (OffsetRange(1, 2),))
    for told, doubt in (
        (QuorumFiles(torn, {TWO: 3}), VoterDoubt.STALE),
        (QuorumFiles(torn, went_back={TWO: fell}), VoterDoubt.STALE),
        (QuorumFiles(torn, {TWO: 2}), VoterDoubt.UNREADABLE),
        (QuorumFiles(torn, went_back={TWO: shorter}), VoterDoubt.UNREADABLE),
        (QuorumFiles(went_back={TWO: shorter}), VoterDoubt.STALE),
    ):
        quorum = known(log(ONE, 1, 3), behind, log(THREE, 1, 3), files=told)
        assert doubts(quorum) == {1: None, 2: doubt, 3: None}
    without = log(TWO, 1, quorum_epoch=UNDEFINED_EPOCH)
    quorum = known(log(ONE, 1, 3), without, files=QuorumFiles(torn, {TWO: 3}))
    assert doubts(quorum)[2] is VoterDoubt.NO_QUORUM_STATE
    assert quorum.voters[1].held_end is None, "its log can't tell what it held"


def test_a_tail_on_one_voter_of_five_is_on_no_majority():
    short = [log(key, 1, 1, sets=(OF_FIVE,)) for key in (ONE, TWO, FOUR, FIVE)]
    quorum = known(log(THREE, 1, 1, 1, 1, sets=(OF_FIVE,)), *short)
    assert (quorum.proven_end, quorum.possible_end, quorum.log_end) == (2, 2, 4)


def test_voters_whose_disks_are_away_or_stale_may_have_held_the_tail():
    longest = log(THREE, 1, 1, 1, 1, sets=(OF_FIVE,))
    short = [log(key, 1, 1, sets=(OF_FIVE,)) for key in (ONE, TWO)]
    assert known(longest, *short).possible_end == 4
    stale = log(FIVE, 1, quorum_epoch=0, sets=(OF_FIVE,))
    short.append(log(FOUR, 1, 1, sets=(OF_FIVE,)))
    assert known(longest, *short).possible_end == 2
    files = QuorumFiles(attested={FIVE: 2, FOUR: 2})
    assert known(longest, *short, stale, files=files).possible_end == 4


def test_a_leader_that_changed_its_address_hides_no_uncommitted_change_of_voters():
    """A leader writes the voters anew at the begin of its epoch where its address is another one.
    So the set before an uncommitted change may be the third that the log names, and its majority
    may have committed what lies below the change."""
    removed = VotersAt(2, 1, frozenset({TWO, THREE}))
    moved = VotersAt(3, 2, frozenset({TWO, THREE}))
    sets = (OF_THREE, removed, moved)
    longest = log(TWO, 1, 1, 1, 2, sets=sets)
    quorum = known(longest, log(ONE, 1, 1, 1, 2, sets=sets), log(THREE, 1))
    assert quorum.possible_end == 4
    assert [voter.key for voter in quorum.leaving] == [ONE]


def test_an_observer_with_the_tail_makes_no_majority():
    broker = log(ReplicaKey(11, "b"), 1, 1, 1)
    quorum = known(log(ONE, 1, 1, 1), log(TWO, 1), log(THREE, 1), broker)
    assert (quorum.possible_end, quorum.log_end) == (1, 3)


def test_logs_that_raft_never_leaves_are_a_conflict():
    other = ReplicaLog(TWO, 0, (LogBatch(0, 0, 1, "other"),), (), 1)
    quorum = known(log(ONE, 1), other)
    assert quorum.conflicts == (LogConflict(ONE, TWO, 0),)
    assert quorum.is_conflicting


def test_where_logs_conflict_every_record_of_the_newest_log_may_have_been_committed():
    other = ReplicaLog(FOUR, 0, (LogBatch(0, 0, 1, "a"), LogBatch(1, 1, 1, "b")), (), 1)
    quorum = known(log(ONE, 1), log(TWO, 1), log(THREE, 1), other)
    assert (quorum.newest, quorum.proven_end, quorum.possible_end) == (FOUR, 0, 2)


def test_a_voter_without_quorum_state_may_have_held_the_tail_on_a_disk_that_was_emptied():
    emptied = log(TWO, quorum_epoch=UNDEFINED_EPOCH)
    quorum = known(log(ONE, 1, 1), emptied, log(THREE))
    assert quorum.possible_end == 2


def test_configured_voters_count_where_no_record_names_any():
    configured = frozenset(ReplicaKey(node) for node in (1, 2, 3))
    logs = [log(key, sets=()) for key in (ONE, TWO)]
    assert known(*logs).voters == ()
    quorum = known(*logs, files=QuorumFiles(configured=configured))
    assert doubts(quorum) == {1: None, 2: None, 3: VoterDoubt.NOT_GIVEN}


@QUICK
@given(SEEDS)
def test_what_a_run_committed_is_below_the_possible_end_and_what_is_proven_is_committed(seed):
    model = model_of(seed)
    quorum = known(*(model.capture(node) for node in model.nodes.values()))
    assert quorum.newest is not None
    newest = model.nodes[quorum.newest].log
    for node in model.nodes.values():
        agreed = 0
        while agreed < min(node.committed, len(newest)) and newest[agreed] == node.log[agreed]:
            agreed += 1
        assert agreed <= quorum.possible_end


def resigned(key, *epochs, to):
    """The log of the leader of its last epoch, which went on to a newer epoch."""
    return replace(log(key, *epochs, quorum_epoch=to), led_epochs=frozenset({epochs[-1]}))


def test_a_leader_that_went_on_to_a_newer_epoch_gave_up():
    leader = resigned(ONE, 1, 1, to=2)
    assert known(leader, log(TWO, 1)).gave_up == ONE
    assert known(leader, log(TWO, 1, quorum_epoch=2), log(THREE, 1, 1, quorum_epoch=2)).gave_up


def test_half_of_an_even_number_of_voters_shows_that_the_others_elected_nobody():
    four = (VotersAt(-1, 0, frozenset({ONE, TWO, THREE, FOUR})),)
    leader = replace(resigned(ONE, 1, 1, to=2), voter_sets=four)
    assert known(leader, log(FOUR, 1, 1, quorum_epoch=2, sets=four)).gave_up == ONE
    assert known(leader).gave_up is None, "nodes 2, 3 and 4 may have elected a leader"


def test_nobody_gave_up_where_a_leader_is_or_may_be():
    leader = resigned(ONE, 1, 1, to=2)
    follower = replace(log(TWO, 1, 1, quorum_epoch=2), quorum_leader=3)
    assert known(leader, follower).gave_up is None, "node 2 names the leader of epoch 2"
    assert known(leader, log(TWO, 1, 1, 2)).gave_up is None, "somebody led epoch 2"
    assert known(leader).gave_up is None, "nodes 2 and 3 may have elected a leader"
    still = replace(log(ONE, 1, 1), led_epochs=frozenset({1}), quorum_leader=1)
    assert known(still, log(TWO, 1, 1, quorum_epoch=2)).gave_up is None, "node 1 leads"
