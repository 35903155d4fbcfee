"""Every step of simulated runs is an action that the specification allows, and broken rules of
elections, voter changes, truncation and commits are none."""

import ast
import inspect
from pathlib import Path

import pytest

from replica.raft.log_state import LogState
from tests.examples import examples
from tests.replica.simulate import test_broken_rules as broken
from tests.replica.simulate import test_invariants as invariants
from tests.replica.simulate import test_more_broken_rules as more_broken
from tests.replica.simulate.behind_a_snapshot import ask_across_a_snapshot, by_records_alone
from tests.replica.simulate.specification import specification
from tests.replica.simulate.specification.specification import (
    Entry,
    Name,
    NotAllowedError,
    Replica,
    Specification,
)
from tests.replica.simulate.specification.trace import JudgedBySpecification, SpecifiedRun

EVENTS = 2000


@pytest.mark.parametrize("seed", range(examples(16)))
def test_every_step_of_a_run_is_an_allowed_action(seed):
    run = SpecifiedRun(seed)
    run.run(EVENTS)
    run.settle()
    state = run.judge.specification
    assert run.judge.steps > 500
    assert len(state.committed) > 3
    assert state.leaders


def test_a_snapshot_that_does_not_count_when_logs_are_compared_is_no_allowed_action(monkeypatch):
    ask_across_a_snapshot(JudgedBySpecification)
    monkeypatch.setattr(LogState, "position", property(by_records_alone))
    with pytest.raises(NotAllowedError, match="votes"):
        ask_across_a_snapshot(JudgedBySpecification)


MUTANTS = [
    broken.test_a_high_watermark_without_a_record_of_the_leader_s_own_epoch,
    broken.test_a_vote_that_is_not_on_disk_before_the_reply,
    broken.test_truncation_by_offset_alone_without_a_look_at_the_epoch,
    broken.test_a_follower_that_acknowledges_before_it_has_flushed,
    broken.test_a_voter_set_in_force_from_its_commit_on_and_not_from_its_append,
    broken.test_a_second_change_of_the_voters_while_one_is_pending,
    broken.test_a_leader_that_counts_itself_after_its_removal,
    broken.test_a_majority_that_observers_help_to_make,
    more_broken.test_half_of_the_voters_that_pass_for_a_majority,
    more_broken.test_a_vote_that_is_forgotten_with_the_restart,
    more_broken.test_an_epoch_that_is_used_again_because_quorum_state_is_gone,
    more_broken.test_a_follower_that_hands_on_what_it_has_before_its_leader_commits_it,
    more_broken.test_a_leader_that_commits_what_only_its_own_disk_holds,
    more_broken.test_a_vote_for_everybody_who_asks,
    more_broken.test_a_vote_for_a_second_candidate_of_an_epoch,
    more_broken.test_a_vote_for_a_candidate_whose_log_is_older,
    more_broken.test_a_candidate_that_asks_for_votes_for_a_log_it_has_not_flushed,
    more_broken.test_a_voter_set_that_stays_in_force_when_its_record_is_truncated,
    invariants.test_an_election_that_one_vote_wins_gives_an_epoch_two_leaders,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__[5:])
def test_a_broken_rule_is_no_allowed_action(mutant, monkeypatch):
    """The mutants are those of the invariants' own tests, and may take twice as many seeds here."""
    finds = []

    def found(invariant, within_seeds, first=0):
        for seed in dict.fromkeys((first, *range(2 * within_seeds))):
            try:
                SpecifiedRun(seed).run(EVENTS)
            except NotAllowedError as error:
                finds.append(str(error))
                return finds[-1]
        raise AssertionError(f"allowed in {2 * within_seeds} seeds")

    monkeypatch.setattr(inspect.getmodule(mutant), "found", found)
    mutant(monkeypatch)
    assert finds


def test_the_specification_knows_nothing_of_the_core():
    tree = ast.parse(Path(specification.__file__).read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imported}
    assert modules == {"__future__", "collections.abc", "dataclasses", "typing"}


A, B, C, D = (Name(number, f"disk {number}") for number in range(1, 5))


def quorum():
    """Three voters, of which A leads epoch 1 and B has its first record."""
    state = Specification()
    for name in (A, B, C, D):
        state.replicas[name] = Replica(name, frozenset((A, B, C)))
    state.stand(A, 1)
    state.adopt(B, 1)
    state.vote(B, A)
    state.lead(A)
    first = Entry(0, 1, 1, b"first")
    state.append(A, first)
    state.copy(B, first)
    return state


def committing():
    state = quorum()
    state.flush(A, 1)
    state.flush(B, 1)
    state.commit(A, 1)
    return state


def test_what_a_majority_has_flushed_is_committed_and_never_cut():
    state = committing()
    state.commit(B, 1)
    with pytest.raises(NotAllowedError, match="cuts what is committed"):
        state.truncate(B, 0)


def test_nothing_is_committed_before_it_is_flushed_on_a_majority():
    state = quorum()
    state.flush(A, 1)
    with pytest.raises(NotAllowedError, match="commits 1 with"):
        state.commit(A, 1)


def test_an_uncommitted_record_that_its_new_leader_lacks_is_cut():
    state = quorum()
    state.stand(C, 2)  # with an empty log
    state.adopt(B, 2)
    with pytest.raises(NotAllowedError, match="has an older log"):
        state.vote(B, C)
    state.adopt(A, 2)
    state.truncate(A, 0)
    state.vote(A, C)
    state.lead(C)


def test_a_replica_that_no_voter_set_names_stands_in_no_election():
    with pytest.raises(NotAllowedError, match="is no voter"):
        quorum().stand(D, 2)


def test_a_second_vote_in_an_epoch_and_a_made_up_epoch_are_not_allowed():
    state = quorum()
    with pytest.raises(NotAllowedError, match="makes up epoch 7"):
        state.adopt(C, 7)
    state.stand(C, 2)
    state.adopt(B, 2)
    state.stand(A, 2)
    state.flush(A, 1)
    state.vote(B, A)
    with pytest.raises(NotAllowedError, match="after"):
        state.vote(B, C)


@pytest.mark.parametrize("voters", [{A, B, C, D}, {A, B}])
def test_voters_change_one_at_a_time_after_a_commit_of_the_leader_s_epoch(voters):
    change = Entry(1, 2, 1, b"change", frozenset(voters))
    with pytest.raises(NotAllowedError, match="before it has committed in 1"):
        quorum().append(A, change)
    state = committing()
    state.append(A, change)
    assert state.replicas[A].voters == voters
    with pytest.raises(NotAllowedError, match="that aren't committed"):
        state.append(A, Entry(2, 3, 1, b"next", frozenset((A, B, C))))


def test_two_voters_never_change_at_once():
    with pytest.raises(NotAllowedError, match="at once"):
        committing().append(A, Entry(1, 2, 1, b"change", frozenset((A, B, D))))
