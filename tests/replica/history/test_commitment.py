"""Proven, superseded, unproven: each rule alone, and Raft's figure 8."""

from dataclasses import replace

import pytest

from replica.doctor.quorum.branch import BranchPart, agreed_branch, overruled_parts
from replica.errors import UsageError
from replica.history.commitment import (
    Commitment,
    EntryCommitment,
    VerdictRange,
    classify,
    classify_compared,
    compare_group,
)
from replica.history.log import LogBatch, OffsetRange, ReplicaLog
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import VotersAt

KEYS = {n: ReplicaKey(n, f"directory-{n}") for n in range(1, 8)}
PROVEN, SUPERSEDED, UNPROVEN = (
    EntryCommitment.PROVEN,
    EntryCommitment.SUPERSEDED,
    EntryCommitment.UNPROVEN,
)


def voters_at(offset, *nodes, epoch=1):
    return VotersAt(offset, epoch, frozenset(KEYS[n] for n in nodes))


def replica(
    node, *epochs, quorum=None, start=0, voters=(1, 2, 3), changes=(), snapshots=(), holes=()
):
    """A dynamic voter's log, one offset per batch; equal offset and epoch means equal bytes.

    quorum: its quorum-state epoch, by default that of its last entry. voters: the set in the
    bootstrap snapshot. changes: further VotersAt.
    """
    batches = tuple(
        LogBatch(start + i, start + i, e, e) for i, e in enumerate(epochs) if start + i not in holes
    )
    ids = tuple(OffsetAndEpoch(*s) for s in snapshots)
    sets = (voters_at(start - 1, *voters, epoch=0), *changes) if voters else tuple(changes)
    newest = max(epochs, default=0) if quorum is None else quorum
    return ReplicaLog(KEYS[node], start, batches, ids, newest, sets)


def static(node, *epochs, voters=(1, 2, 3), quorum=None, directory=None):
    """The same in a static quorum: LeaderChange of each epoch names the voters by id."""
    log = replica(node, *epochs, voters=(), quorum=quorum)
    firsts = {epoch: epochs.index(epoch) for epoch in epochs}
    ids = frozenset(ReplicaKey(n) for n in voters)
    changes = tuple(VotersAt(first, epoch, ids) for epoch, first in firsts.items())
    key = KEYS[node] if directory is None else ReplicaKey(node, directory)
    return ReplicaLog(key, 0, log.batches, (), log.quorum_epoch, (), changes)


def verdicts(commitment: Commitment, node: int) -> list[tuple[int, int, EntryCommitment]]:
    return [(r.start, r.end, r.verdict) for r in commitment.verdicts[KEYS[node]]]


def test_a_majority_in_the_newest_epoch_proves_all_it_holds_and_no_more():
    found = classify([replica(1, 1, 1, 2, 2), replica(2, 1, 1, 2), replica(3, 1)])
    assert verdicts(found, 1) == [(0, 3, PROVEN), (3, 4, UNPROVEN)]
    assert verdicts(found, 2) == [(0, 3, PROVEN)]
    assert verdicts(found, 3) == [(0, 1, PROVEN)]


def test_two_of_three_voters_suffice_and_one_does_not():
    assert verdicts(classify([replica(1, 1, 1), replica(2, 1, 1)]), 1) == [(0, 2, PROVEN)]
    assert verdicts(classify([replica(1, 1, 1)]), 1) == [(0, 2, UNPROVEN)]


def test_a_voter_that_knows_a_newer_epoch_by_its_quorum_state_proves_nothing_older():
    """It may have voted for a leader without the entry."""
    found = classify([replica(1, 1, 1), replica(2, 1, 1, quorum=2)])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_leader_that_knows_a_newer_epoch_still_counts_for_the_entries_of_its_own_epoch():
    """It wrote them before it heard of that epoch, as a leader that lost its majority does."""
    resigned = replace(replica(1, 1, 1, 1, quorum=2), led_epochs=frozenset({1}))
    found = classify([resigned, replica(2, 1, 1)])
    assert verdicts(found, 1) == [(0, 2, PROVEN), (2, 3, UNPROVEN)]
    assert verdicts(found, 2) == [(0, 2, PROVEN)]


def test_a_leader_of_one_epoch_counts_for_no_entry_of_another():
    """It may have got the entry of epoch 2 after it heard of epoch 3."""
    leader = replace(replica(1, 1, 2, quorum=3), led_epochs=frozenset({1}))
    found = classify([leader, replica(2, 1, 2)])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_voter_that_knows_a_newer_epoch_by_its_snapshot_proves_nothing_older():
    found = classify([replica(1, 1, 1), replica(2, 1, 1, snapshots=[(9, 2)])])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_voter_without_quorum_state_proves_nothing():
    """It may have voted in any epoch."""
    found = classify([replica(1, 1, 1), replica(2, 1, 1, quorum=-1)])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_third_voter_with_a_newer_epoch_does_not_spoil_the_majority():
    found = classify([replica(1, 1, 1), replica(2, 1, 1), replica(3, 1, quorum=9)])
    assert verdicts(found, 1) == [(0, 2, PROVEN)]


def test_observers_never_count():
    found = classify([replica(1, 1, 1), replica(4, 1, 1), replica(5, 1, 1)])
    assert verdicts(found, 4) == [(0, 2, UNPROVEN)]


def test_a_voter_with_another_directory_is_an_observer():
    """H32: a wiped disk is another replica."""
    wiped = ReplicaLog(ReplicaKey(2, "new-disk"), 0, replica(2, 1, 1).batches, (), 1)
    assert verdicts(classify([replica(1, 1, 1), wiped]), 1) == [(0, 2, UNPROVEN)]


@pytest.mark.parametrize("first", [2, 4])
def test_figure_8_an_old_entry_on_a_majority_is_not_committed_by_that(first):
    """Raft, figure 8 (c): S1 leads epoch 4 again and copies its entry of epoch 2 to S2 and S3,
    which know epoch 4 by their quorum-state alone; S5 holds epoch 3 and can still win."""
    five = (1, 2, 3, 4, 5)
    one = replica(1, 1, 2, 4, voters=five)
    two = replica(2, 1, 2, voters=five, quorum=4)
    three = replica(3, 1, 2, voters=five, quorum=4)
    four = replica(4, 1, voters=five, quorum=3)
    last = replica(5, 1, 3, voters=five)
    logs = [one, two, three, four, last] if first == 2 else [last, four, three, two, one]
    assert all(r.verdict is UNPROVEN for ranges in classify(logs).verdicts.values() for r in ranges)


def test_figure_8_an_entry_of_the_leaders_own_epoch_commits_the_old_one_with_it():
    """Figure 8 (e): with epoch 4's entry on a majority, epoch 2's is safe and epoch 3's is not."""
    five = (1, 2, 3, 4, 5)
    majority = [replica(n, 1, 2, 4, voters=five) for n in (1, 2, 3)]
    found = classify([*majority, replica(5, 1, 3, voters=five)])
    assert verdicts(found, 1) == [(0, 3, PROVEN)]
    assert verdicts(found, 5) == [(0, 1, PROVEN), (1, 2, SUPERSEDED)]


def test_figure_8_without_the_leader_quorum_state_alone_tells():
    """S2, S3, S4 hold epoch 2's entry, no entry shows epoch 4."""
    five = (1, 2, 3, 4, 5)
    aware = [replica(n, 1, 2, voters=five, quorum=4) for n in (2, 3, 4)]
    assert verdicts(classify(aware), 2) == [(0, 2, UNPROVEN)]
    unaware = [replica(n, 1, 2, voters=five) for n in (2, 3, 4)]
    assert verdicts(classify(unaware), 2) == [(0, 2, PROVEN)]


def test_a_longer_branch_than_the_proven_one_is_unproven_beyond_its_end():
    found = classify([replica(1, 1, 2), replica(2, 1, 2), replica(3, 1, 1, 1)])
    assert verdicts(found, 3) == [(0, 1, PROVEN), (1, 2, SUPERSEDED), (2, 3, UNPROVEN)]


def test_the_voter_set_in_force_is_the_newest_committed_or_not():
    """Node 4 was added at offset 1: two of four are no majority, three are."""
    added = [voters_at(1, 1, 2, 3, 4)]
    two = [replica(n, 1, 1, 1, changes=added) for n in (1, 2)]
    assert verdicts(classify(two), 1) == [(0, 3, UNPROVEN)]
    assert verdicts(classify([*two, replica(4, 1, 1, 1, changes=added)]), 1) == [(0, 3, PROVEN)]


def test_an_entry_below_a_newer_voter_set_needs_a_majority_in_both():
    """Offset 1 is on {1, 2} of {1, 2, 3}; node 1 alone appended {1, 2, 3, 4} at 2."""
    leader = replica(1, 1, 1, 1, changes=[voters_at(2, 1, 2, 3, 4)])
    assert verdicts(classify([leader, replica(2, 1, 1)]), 2) == [(0, 2, UNPROVEN)]
    third = replica(3, 1, 1)
    assert verdicts(classify([leader, replica(2, 1, 1), third]), 2) == [(0, 2, PROVEN)]


def test_a_removed_leader_does_not_count():
    """Node 1 removed itself at 1: node 2 alone of {2, 3} proves nothing, 2 and 3 do."""
    removed = [voters_at(1, 2, 3)]
    logs = [replica(n, 1, 1, 1, changes=removed) for n in (1, 2, 3)]
    assert verdicts(classify(logs[:2]), 1) == [(0, 3, UNPROVEN)]
    assert verdicts(classify(logs), 1) == [(0, 3, PROVEN)]


def test_without_a_known_voter_set_nothing_is_proven_by_majority():
    found = classify([replica(n, 1, 1, voters=()) for n in (1, 2, 3)])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_hole_that_may_hide_a_voters_record_leaves_what_is_above_it_unproven():
    holed = [replica(n, 1, 1, 1, holes={1}) for n in (1, 2, 3)]
    assert verdicts(classify(holed), 1) == [(0, 1, PROVEN), (2, 3, UNPROVEN)]
    whole_too = [*holed[:2], replica(3, 1, 1, 1)]
    assert verdicts(classify(whole_too), 1) == [(0, 1, PROVEN), (2, 3, PROVEN)]


def test_what_stands_behind_zeros_of_a_power_cut_may_never_have_been_acknowledged():
    """The zeros were not synced, so neither was what was written behind them."""
    cut = replace(replica(2, 1, 1, 1, 1, holes={1}), unsynced_from=1)
    logs = [replica(1, 1, 1, 1, 1), cut, replica(3, 1)]
    assert verdicts(classify(logs), 1) == [(0, 1, PROVEN), (1, 4, UNPROVEN)]
    synced = [replica(1, 1, 1, 1, 1), replica(2, 1, 1, 1, 1, holes={1}), replica(3, 1)]
    assert verdicts(classify(synced), 1) == [(0, 4, PROVEN)]


def test_a_log_behind_a_snapshot_has_the_snapshots_voters():
    """H28: the set is in force from the snapshot's last offset on."""
    logs = [replica(n, 2, 2, start=5, voters=(1, 2)) for n in (1, 2)]
    assert verdicts(classify(logs), 1) == [(5, 7, PROVEN)]


def test_static_voters_come_from_the_leader_change_and_match_any_directory():
    """H32."""
    assert verdicts(classify([static(1, 1, 1), static(2, 1, 1)]), 1) == [(0, 2, PROVEN)]
    observers = [static(1, 1, 1), static(4, 1, 1), static(5, 1, 1)]
    assert verdicts(classify(observers), 1) == [(0, 2, UNPROVEN)]


def test_static_voters_are_those_of_the_entrys_own_epoch():
    three, five = (1, 2, 3), (1, 2, 3, 4, 5)
    logs = [static(1, 1, 2, voters=five), static(2, 1, 2, voters=five)]
    assert verdicts(classify(logs), 1) == [(0, 2, UNPROVEN)]
    logs = [static(1, 1, 2, voters=three), static(2, 1, 2, voters=three)]
    assert verdicts(classify(logs), 1) == [(0, 2, PROVEN)]


def test_a_static_voter_seen_with_two_disks_counts_once_and_only_with_both():
    old_disk = static(2, 1, directory="old")
    found = classify([static(1, 1, 1), static(2, 1, 1), old_disk])
    assert verdicts(found, 1) == [(0, 1, PROVEN), (1, 2, UNPROVEN)]
    found = classify([static(2, 1, 1), static(2, 1, 1, directory="old")])
    assert verdicts(found, 2) == [(0, 2, UNPROVEN)]


def test_a_voters_record_anywhere_below_the_entry_rules_out_leader_change():
    """The quorum is dynamic; what the holders lack isn't guessed from LeaderChange.

    Offset 0 is held by the replica with the record too, so its voters are known.
    """
    elsewhere = replica(5, 1, voters=(1, 2, 3))
    found = classify([static(1, 1, 1), static(2, 1, 1), elsewhere])
    assert verdicts(found, 1) == [(0, 1, PROVEN), (1, 2, UNPROVEN)]


def test_a_valid_snapshot_proves_what_lies_below_it_on_its_lineage():
    found = classify([replica(1, 1, 1, 2, 2), replica(5, 1, 3, snapshots=[(3, 2)])])
    assert verdicts(found, 1) == [(0, 3, PROVEN), (3, 4, UNPROVEN)]
    assert verdicts(found, 5) == [(0, 1, PROVEN), (1, 2, SUPERSEDED)]


def test_a_snapshot_proves_what_a_log_that_ends_before_has_of_its_epoch():
    """One leader wrote the epoch, so no other log has anything else of it there."""
    behind, beside = replica(2, 1, 1, 2), replica(3, 1, 1, 1)
    found = classify([replica(1, start=9, snapshots=[(9, 2)]), behind, beside])
    assert found.ranges(behind.key, EntryCommitment.PROVEN) == (OffsetRange(0, 3),)
    assert found.ranges(beside.key, EntryCommitment.PROVEN) == (OffsetRange(0, 2),)
    assert found.ranges(beside.key, EntryCommitment.SUPERSEDED) == (OffsetRange(2, 3),)
    beyond = replica(2, 1, 2, 2, 2, snapshots=[(3, 2)], holes=(2,))
    assert classify([beyond]).ranges(beyond.key, EntryCommitment.PROVEN) == (OffsetRange(0, 2),)


def test_a_snapshot_proves_nothing_in_a_log_of_another_lineage():
    """The entry at its end offset - 1 has another epoch."""
    found = classify([replica(1, 1, 1, 1, snapshots=[(3, 2)])])
    assert verdicts(found, 1) == [(0, 3, UNPROVEN)]


def test_the_bootstrap_snapshot_proves_nothing():
    found = classify([replica(1, 0, 0, snapshots=[(0, 0)])])
    assert verdicts(found, 1) == [(0, 2, UNPROVEN)]


def test_a_shorter_log_is_proven_by_the_lineage_of_a_longer_one():
    found = classify([replica(1, 1, 1), replica(2, 1, 1, 2, snapshots=[(3, 2)])])
    assert verdicts(found, 1) == [(0, 2, PROVEN)]


def test_two_proven_entries_at_one_offset_are_contested():
    found = classify([replica(1, 1, 2, snapshots=[(2, 2)]), replica(2, 1, 3, snapshots=[(2, 3)])])
    assert [(r.start, r.end) for r in found.contested] == [(1, 2)]
    assert verdicts(found, 1) == verdicts(found, 2) == [(0, 2, PROVEN)]
    assert classify([replica(1, 1, 2), replica(2, 1, 2)]).contested == ()


def test_a_copy_with_other_bytes_is_unproven_and_what_follows_is_proven():
    """Same offset and epoch, other bytes: the entries after it equal proven ones. The copy may be
    damaged, or left over from an earlier history that had committed it."""
    good = [replica(n, 1, 1, 1) for n in (1, 2)]
    bad = ReplicaLog(KEYS[3], 0, (*good[0].batches[:1], LogBatch(1, 1, 1, "x"), good[0].batches[2]))
    assert verdicts(classify([*good, bad]), 3) == [
        (0, 1, PROVEN),
        (1, 2, UNPROVEN),
        (2, 3, PROVEN),
    ]


def test_what_a_conflicting_history_proves_tells_nothing_about_the_other():
    """Node 4 followed a quorum whose disks were lost; 1 to 3 were formatted anew."""
    anew = [replica(n, 1, 1) for n in (1, 2, 3)]
    before = ReplicaLog(KEYS[4], 0, tuple(LogBatch(n, n, 1, f"before {n}") for n in range(4)))
    found = classify([*anew, before])
    assert verdicts(found, 1) == [(0, 2, PROVEN)]
    assert verdicts(found, 4) == [(0, 4, UNPROVEN)]


def test_the_agreed_branch_still_follows_the_proof_where_logs_conflict():
    anew = [replica(n, 1, 1) for n in (1, 2, 3)]
    before = ReplicaLog(KEYS[4], 0, tuple(LogBatch(n, n, 1, f"before {n}") for n in range(4)))
    assert branch(*anew, before) == (BranchPart(0, 2, KEYS[1], PROVEN),)


def test_verdicts_are_looked_up_by_offset_and_holes_have_none():
    found = classify([replica(n, 1, 1, 1, holes={1}) for n in (1, 2)])
    assert found.verdict_at(KEYS[1], 0) is PROVEN
    assert found.verdict_at(KEYS[1], 1) is None
    assert found.verdict_at(KEYS[1], 2) is UNPROVEN
    assert found.verdicts[KEYS[1]] == (VerdictRange(0, 1, PROVEN), VerdictRange(2, 3, UNPROVEN))


def test_a_replica_twice_in_a_group_is_refused():
    with pytest.raises(UsageError, match="occurs twice"):
        classify([replica(1, 1), replica(1, 1, 1)])


def test_an_empty_group_and_an_empty_log_have_no_verdicts():
    assert classify([]).verdicts == {}
    assert classify([replica(1)]).verdicts == {KEYS[1]: ()}


def branch(*logs):
    group = compare_group(logs)
    return agreed_branch(group, classify_compared(group))


def test_the_agreed_branch_leaves_superseded_tails_out_and_goes_to_its_end():
    ghost = replica(2, 1, 5, 5, 5, 5, 5)
    assert branch(ghost, replica(1, 1, 5, 6, 6), replica(3, 1, 5, 6)) == (
        BranchPart(0, 3, KEYS[1], PROVEN),
        BranchPart(3, 4, KEYS[1], UNPROVEN),
    )


def test_the_agreed_branch_takes_a_deleted_head_from_a_log_that_agrees():
    assert branch(replica(1, 2, 2, 2, start=2), replica(2, 1, 1, 2)) == (
        BranchPart(0, 2, KEYS[2], PROVEN),
        BranchPart(2, 3, KEYS[1], PROVEN),
        BranchPart(3, 5, KEYS[1], UNPROVEN),
    )


def test_the_agreed_branch_takes_an_unproven_head_too_but_no_other_branch():
    tip = replica(4, 2, 2, 2, start=1)
    assert branch(tip, replica(5, 1, 2)) == (
        BranchPart(0, 1, KEYS[5], UNPROVEN),
        BranchPart(1, 4, KEYS[4], UNPROVEN),
    )
    assert branch(tip, replica(5, 1, 1)) == (BranchPart(1, 4, KEYS[4], UNPROVEN),)


def test_the_agreed_branch_fills_a_damaged_batch_from_another_log():
    tip = replica(4, 1, 1, 1, 1, holes={1})
    assert branch(tip, replica(5, 1, 1, 1)) == (
        BranchPart(0, 1, KEYS[4], UNPROVEN),
        BranchPart(1, 2, KEYS[5], UNPROVEN),
        BranchPart(2, 4, KEYS[4], UNPROVEN),
    )


def test_the_agreed_branch_of_logs_without_entries_is_empty():
    assert branch(replica(1), replica(2)) == ()


def test_the_agreed_branch_does_not_follow_a_newer_log_that_contradicts_a_proof():
    """Node 3 leads epoch 9 without what {1, 2} committed: Raft was broken, the proof stands."""
    usurper = replica(3, 1, 9, 9, 9)
    assert branch(replica(1, 1, 6, 6), replica(2, 1, 6, 6), usurper) == (
        BranchPart(0, 3, KEYS[1], PROVEN),
    )


def test_two_contradicting_proofs_give_an_agreed_branch_of_one_replica():
    """{2, 3} committed without what 1's snapshot shows to be committed, behind their end too."""
    older = replica(1, 1, 1, 1, 1, snapshots=[(4, 1)])
    group = compare_group([older, replica(2, 1, 2), replica(3, 1, 2)])
    commitment = classify_compared(group)
    parts = agreed_branch(group, commitment)
    assert parts == (BranchPart(0, 2, KEYS[2], PROVEN),)
    overruled = overruled_parts(group, commitment, parts)
    assert overruled == (BranchPart(1, 4, KEYS[1], PROVEN),)


def test_without_a_contradiction_nothing_proven_is_beside_the_agreed_branch():
    group = compare_group([replica(1, 1, 1, 2, 2), replica(2, 1, 1, 2), replica(3, 1, 1, 1)])
    commitment = classify_compared(group)
    parts = agreed_branch(group, commitment)
    assert overruled_parts(group, commitment, parts) == ()
