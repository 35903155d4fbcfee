"""No command contradicts another, nor what the simulator knows: every rule, on recorded clusters,
on named scenarios and on seeds.

A seed whose number is in a failure is repeated by `seed(N)` of tests/contradictions/clusters.py,
with the kind of its name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from replica.simulate.scenarios.library import SCENARIOS
from tests.contradictions.against_truth import AGAINST_TRUTH, TruthRule
from tests.contradictions.answers import Answers, InLake, answers_of, lakes_of
from tests.contradictions.clusters import (
    RECORDED,
    ROUNDS,
    Given,
    recorded,
    scenario,
    seed,
    seed_that_went_back,
    seed_with_lost_disks,
    seed_with_old_disk,
)
from tests.contradictions.conftest import Told
from tests.contradictions.history_against_truth import HISTORY_AGAINST_TRUTH
from tests.contradictions.in_a_lake import IN_A_LAKE
from tests.contradictions.known import KNOWN, Known
from tests.contradictions.one_verdict import ONE_VERDICT
from tests.contradictions.over_time import OVER_TIME
from tests.contradictions.record import Counts
from tests.contradictions.starting import STARTING
from tests.contradictions.statements import Outcome, Statement
from tests.contradictions.states import STATES
from tests.contradictions.stopping import STOPPING
from tests.contradictions.tables_against_truth import TABLES_AGAINST_TRUTH

RULES = (*STARTING, *STOPPING, *STATES, *ONE_VERDICT, *IN_A_LAKE, *OVER_TIME)
TRUTH_RULES = (*AGAINST_TRUTH, *HISTORY_AGAINST_TRUTH, *TABLES_AGAINST_TRUTH)
SHORT = (
    "kafka-4.1.1-dynamic/final",
    "ghost-writes", "lost-disks", "two-quorums", "flipped-bit",
    "seed-0", "seed-0-left", "seed-1", "seed-1-old", "seed-16", "seed-2-back",
)  # fmt: skip
"""Of each kind one or two; the whole is slow."""
MORE = (
    "figure-8", "wiped-voter", "seed-180", "seed-223-old", "seed-251", "seed-281-old",
    "seed-95-back", "seed-333-back", "seed-333", "seed-424",
)  # fmt: skip
"""Clusters about which answers disagreed once."""
SEEDS, CHUNK = range(*map(int, os.environ.get("CONTRADICTION_SEEDS", "0:500").split(":"))), 25
"""All take some hours: CONTRADICTION_SEEDS=60:110 asks those from 60 to 109."""
IN_LAKE = 5
"""One of so many seeds is put in a lake, too, and one whose disk went back: that takes most of the
time."""


def _untrue(rule: TruthRule, answers: Answers) -> Iterator[str]:
    for statement in _stated(rule, answers):
        if statement.outcome is Outcome.WRONG:
            yield statement.what


def _stated(rule: TruthRule, answers: Answers) -> Iterator[Statement]:
    truth = answers.given.truth
    return iter(()) if truth is None else rule(answers, truth)


JUDGES: dict[str, Callable[[Answers], Iterator[str]]] = {
    **{rule.__name__: rule for rule in RULES},
    **{rule.__name__: partial(_untrue, rule) for rule in TRUTH_RULES},
}


@pytest.mark.parametrize("rule", [name for name in JUDGES if name not in KNOWN])
def test_answers_about_a_few_clusters_agree(told: Told, rule: str) -> None:
    assert broken([rule], map(told, SHORT)) == []


@pytest.mark.slow
def test_answers_about_some_more_clusters_agree(told: Told) -> None:
    assert broken([name for name in JUDGES if name not in KNOWN], map(told, MORE)) == []


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        pytest.param(
            rule,
            known,
            id=f"{rule}-{known.cluster}",
            marks=[
                pytest.mark.xfail(strict=True, raises=AssertionError, reason=known.reason),
                *([pytest.mark.slow] if known.in_lake else []),
            ],
        )
        for rule, known in KNOWN.items()
    ],
)
def test_a_known_contradiction_is_mended(
    told: Told, tmp_path: Path, rule: str, known: Known
) -> None:
    answers = told(known.cluster)
    if known.in_lake:
        (in_lake,) = lakes_of([answers.given], tmp_path).values()
        answers = replace(answers, in_lake=in_lake)
    assert broken([rule], [answers]) == []


@pytest.mark.slow
def test_answers_about_recorded_clusters_agree(tmp_path: Path) -> None:
    final = [recorded(f"{name}/final") for name in RECORDED]
    rounds = [recorded(f"{name}/{one}") for name in RECORDED for one in ROUNDS[:-1]]
    assert judged(final, tmp_path, lakes_of(final, tmp_path)) == []
    assert judged(rounds, tmp_path) == []


@pytest.mark.slow
def test_answers_about_named_scenarios_agree(tmp_path: Path) -> None:
    given = [scenario(one.name) for one in SCENARIOS]
    assert judged(given, tmp_path, lakes_of(given, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::CHUNK])
def test_answers_about_seeds_agree(first: int, tmp_path: Path) -> None:
    numbers = range(first, min(first + CHUNK, SEEDS.stop))
    whole = [seed(number) for number in numbers[::IN_LAKE]]
    back = [
        one
        for number in numbers[1::IN_LAKE]
        if (one := seed_that_went_back(seed(number), number)) is not None
    ]
    lakes = lakes_of(whole, tmp_path / "whole") | lakes_of(back, tmp_path / "back")
    counts = Counts(numbers)
    given = (one for number in numbers for one in of_seed(number))
    found = judged(given, tmp_path, lakes, counts)
    counts.keep()
    assert not found, "\n".join(map(str, found))


def of_seed(number: int) -> Iterator[Given]:
    """The whole quorum, a part of it, and one with an old disk, without and with earlier looks."""
    whole = seed(number)
    yield whole
    yield seed_with_lost_disks(whole, number)
    for old in (seed_with_old_disk(whole, number), seed_that_went_back(whole, number)):
        if old is not None:
            yield old


def judged(
    given: Iterable[Given],
    folder: Path,
    lakes: dict[str, InLake] | None = None,
    counts: Counts | None = None,
) -> list[Any]:
    """The contradictions of rules that are not known to be broken. counts: counts the statements
    about clusters whose truth is known."""
    found = []
    for one in given:
        answers = answers_of(one, folder / one.name, (lakes or {}).get(one.name))
        found += broken([name for name in JUDGES if name not in KNOWN], [answers])
        if counts is not None:
            counts.clusters += 1
            for rule in TRUTH_RULES:
                counts.add(rule.__name__, _stated(rule, answers))
        shutil.rmtree(folder / one.name)
    return found


def broken(rules: Sequence[str], all_answers: Iterable[Answers]) -> list[tuple[str, str, str]]:
    """(rule, cluster, what contradicts what)."""
    return [
        (name, answers.given.name, what)
        for answers in all_answers
        for name in rules
        for what in JUDGES[name](answers)
    ]
