"""Campaigns that go on from what they found: what is kept, and how a run forks from another."""

from dataclasses import replace
from random import Random

from replica.simulate import nemesis
from replica.simulate.faulty_run import FaultyRun, Fork, Result, run
from replica.simulate.guided import Corpus, PlannedRun, carry_out
from replica.simulate.network import Network

EVENTS = 400


def result(number, *reached, seed=None, forks=(), broken=None):
    seed = number if seed is None else seed
    return Result(seed, EVENTS, "", 0, 0, broken, number, forks, reached)


def test_a_forked_run_begins_as_the_run_that_it_forks_from():
    plain, forked = FaultyRun(5), FaultyRun(5)
    plain.run(300)
    forked.run(300)
    assert plain.trace.hexdigest() == forked.trace.hexdigest()
    forked.go_on_by(99)
    plain.run(EVENTS)
    forked.run(EVENTS)
    assert plain.trace.hexdigest() != forked.trace.hexdigest()


def test_a_forked_run_is_repeated_by_its_seed_and_forks():
    forks = (Fork(100, 7), Fork(250, 8))
    assert run(5, EVENTS, forks) == run(5, EVENTS, forks)
    assert run(5, EVENTS, forks).replay_command.endswith(" --forks 100.7,250.8")
    assert carry_out(PlannedRun(41, 5, forks), EVENTS) == replace(run(5, EVENTS, forks), number=41)


def test_only_a_run_that_reached_something_new_is_forked_from():
    corpus = Corpus(EVENTS)
    assert corpus.plan(1) == PlannedRun(1, 1)
    assert corpus.add(result(0, "a", "b")).reached == ("a", "b")
    assert corpus.add(result(2, "a")).reached == ()
    assert corpus.add(result(4, "b", "c")).reached == ("c",)
    assert {corpus.plan(number).seed for number in range(1, 99, 2)} == {0, 4}
    assert all(corpus.plan(number) == PlannedRun(number, number) for number in range(0, 99, 2))


def test_a_run_that_broke_an_invariant_is_not_forked_from():
    corpus = Corpus(EVENTS)
    corpus.add(result(0, "a", broken="votes: twice"))
    assert corpus.plan(1) == PlannedRun(1, 1)


def test_a_fork_of_a_forked_run_keeps_the_forks_before_it_and_no_later_one():
    corpus = Corpus(EVENTS)
    corpus.add(result(1, "a", seed=0, forks=(Fork(200, 1),)))
    plans = [corpus.plan(number) for number in range(3, 99, 2)]
    assert {len(plan.forks) for plan in plans} == {1, 2}
    for plan in plans:
        events = [fork.event for fork in plan.forks]
        assert events == sorted(set(events))
        assert plan.forks[-1].seed == plan.number


def test_without_guidance_each_run_is_that_of_its_number():
    corpus = Corpus(EVENTS, is_guided=False)
    corpus.add(result(0, "a"))
    assert [corpus.plan(number) for number in (1, 2, 3)] == [
        PlannedRun(1, 1),
        PlannedRun(2, 2),
        PlannedRun(3, 3),
    ]


def test_each_fault_exists_in_some_runs_and_is_missing_in_others():
    everything = set(nemesis._ACTIONS)
    drawn = [set(nemesis.drawn(Random(seed), Network())) for seed in range(60)]
    assert set.union(*drawn) == everything
    assert set.intersection(*drawn) == {nemesis._heal}
    assert everything in drawn


def test_the_network_s_faults_are_missing_in_some_runs_too():
    rates = {FaultyRun(seed).network.loss > 0 for seed in range(20)}
    assert rates == {True, False}


def test_a_run_lists_each_reached_situation_in_four_words():
    reached = run(5, EVENTS).reached
    assert any(text.startswith("Candidate VoteResponse MAJORITY_GRANTED ") for text in reached)
    assert all(len(text.split()) == 4 for text in reached)
    assert reached == tuple(sorted(set(reached)))


def test_partitions_last_longer_in_some_runs():
    def heals(seed):
        return nemesis.drawn(Random(seed), Network()).count(nemesis._heal)

    assert {heals(seed) for seed in range(60)} == {1, 4}
