"""The view of the log: epochs, voter sets and versions through appends, cuts and trims."""

from dataclasses import replace

import pytest

from replica.errors import UsageError
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.stored import LogFacts, SnapshotFacts
from replica.raft.config import Config
from replica.raft.log_state import opened
from tests.replica.raft.host import batch, voter, voters

STATIC = voters(1)
A, B, C = voters(1, 2), voters(1, 2, 3), voters(1, 2, 3, 4)


def voters_at(offset, voter_set, epoch=1):
    return batch(offset, offset, epoch, b"", (KRaftVoters(voter_set),))


def log(*batches, **facts):
    return opened(LogFacts(**facts), STATIC).appended(batches)


def snapshot(offset, epoch=1, voter_set=None, version=0):
    return SnapshotFacts(OffsetAndEpoch(offset, epoch), 10, 0, voter_set, version)


@pytest.mark.scenario("H27")
def test_truncation_brings_back_the_voters_before_then_the_static_ones():
    state = log(voters_at(0, A), batch(1, 4, 1), voters_at(5, B))
    assert state.voters == B
    assert state.truncated(5).voters == A
    assert state.truncated(1).voters == A
    assert state.truncated(0).voters == STATIC


def test_a_kraft_version_is_in_force_from_its_record_on():
    upgrade = batch(5, 6, 1, b"", (KRaftVersion(1), KRaftVoters(B)))
    state = log(batch(0, 4, 1), upgrade)
    assert [state.kraft_version_at(offset) for offset in (4, 5, 6)] == [0, 1, 1]
    assert state.truncated(5).kraft_version == 0
    trimmed = state.with_snapshot(snapshot(7, 1, B, 1)).started_at(7)
    assert trimmed.kraft_version_at(6) == 1


@pytest.mark.scenario("H28")
def test_voters_of_the_log_win_over_the_snapshot_s_which_hold_at_its_offset():
    state = log(
        batch(10, 10, 1),
        voters_at(11, B),
        log_start=10,
        log_end=10,
        snapshots=(snapshot(10, 1, A, 1),),
    )
    assert state.voters == B
    assert state.voters_at(9) == A
    assert state.voters_at(10) == A
    assert state.voters_since(9) == (A, B)
    assert state.voters_since(11) == (B,)


def test_the_newest_snapshot_stands_for_the_control_records_below_its_end():
    told = (voters_at(3, C), voters_at(12, B))
    facts = LogFacts(
        log_end=20,
        epochs=(EpochStart(1, 0),),
        snapshots=(snapshot(0, 0, STATIC, 1), snapshot(10, 1, A, 1)),
        control_batches=told,
    )
    state = opened(facts, STATIC)
    assert state.voters == B
    assert state.truncated(12).voters == A
    assert state.voters_at(3) == STATIC
    assert opened(replace(facts, control_batches=told[1:]), STATIC) == state


def test_a_snapshot_that_is_newer_than_the_log_says_nothing_of_its_records():
    facts = LogFacts(
        log_end=20,
        epochs=(EpochStart(1, 0),),
        snapshots=(snapshot(15, 2, C, 1),),
        control_batches=(voters_at(3, A), voters_at(16, B)),
    )
    state = opened(facts, STATIC)
    assert state.voters == B
    assert state.truncated(16).voters == A


@pytest.mark.scenario("H29")
def test_a_trimmed_prefix_leaves_what_is_in_force_at_the_new_start():
    state = log(
        batch(0, 1, 1, b"", (KRaftVersion(1), KRaftVoters(A))),
        batch(2, 4, 1),
        voters_at(5, B),
        batch(6, 9, 1),
    ).with_snapshot(snapshot(7))
    trimmed = state.started_at(7)
    assert [entry.value for entry in trimmed.voter_sets] == [B]
    assert trimmed.kraft_version == 1
    assert trimmed.epochs == (EpochStart(1, 7),)


def test_the_voters_that_the_first_record_replaces_are_still_known_as_after_a_restart():
    change, facts = voters_at(5, B), snapshot(5, 1, A, 1)
    trimmed = log(voters_at(0, A), batch(1, 4, 1), change).with_snapshot(facts).started_at(5)
    reopened = log(change, log_start=5, log_end=5, snapshots=(facts,))
    assert trimmed.voters_since(4) == reopened.voters_since(4) == (A, B)


@pytest.mark.scenario("H33")
def test_voters_of_a_bootstrap_snapshot_are_there_before_the_first_record():
    state = log(batch(0, 0, 1), snapshots=(snapshot(0, 0, A, 1),))
    assert state.voters_offset == -1
    assert state.voters_at(-1) == A
    assert state.voters == A


def test_control_records_of_one_batch_have_offsets_of_their_own():
    state = log(batch(0, 2, 1, b"", (KRaftVersion(1), KRaftVoters(A), KRaftVoters(B))))
    assert state.truncated(2).voters == A
    assert state.voters == B


@pytest.mark.scenario("G24")
def test_a_reset_forgets_log_epochs_voters_and_older_snapshots():
    state = log(voters_at(0, A), batch(1, 9, 1)).with_snapshot(snapshot(5))
    reset = state.reset_to(snapshot(20, 3, C, 1))
    assert (reset.log_start, reset.log_end, reset.flushed_end) == (20, 20, 20)
    assert (reset.last_epoch, reset.voters, reset.kraft_version) == (3, C, 1)
    assert [s.snapshot_id.offset for s in reset.snapshots] == [20]


@pytest.mark.scenario("B26")
def test_a_gap_is_never_appended():
    with pytest.raises(AssertionError):
        log(batch(0, 0, 1), batch(2, 2, 1))


@pytest.mark.scenario("J13")
def test_a_control_batch_has_its_place_its_epoch_and_a_record():
    state = log(voters_at(0, A, epoch=3))
    for wrong in (voters_at(0, B, 3), voters_at(2, B, 3), voters_at(1, B, 2)):
        with pytest.raises(AssertionError):
            state.appended([wrong])
    with pytest.raises(AssertionError, match="at least one offset"):
        batch(1, 0, 3, b"", ())
    assert state.appended([voters_at(1, B, 3)]).voters == B


@pytest.mark.scenario("F11")
def test_a_flush_covers_no_more_than_the_log_and_is_never_taken_back():
    state = log(batch(0, 9, 1))
    assert state.flushed_end == 0
    assert state.flushed(7).flushed_end == 7
    assert state.flushed(7).flushed(3).flushed_end == 7
    assert state.flushed(99).flushed_end == 10
    assert state.flushed(10).truncated(4).flushed_end == 4


def test_the_newest_of_log_and_snapshot_counts_in_elections():
    state = log(batch(0, 9, 2))
    assert state.position == OffsetAndEpoch(10, 2)
    assert state.with_snapshot(snapshot(10, 1)).position == OffsetAndEpoch(10, 2)
    assert state.with_snapshot(snapshot(20, 2)).position == OffsetAndEpoch(20, 2)
    assert state.with_snapshot(snapshot(5, 3)).position == OffsetAndEpoch(5, 3)


def test_a_request_timeout_that_a_waiting_fetch_would_reach_is_refused():
    with pytest.raises(UsageError, match=r"request\.timeout"):
        Config("cluster", voter(1), fetch_max_wait_ms=500, request_timeout_ms=500)
