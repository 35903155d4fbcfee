"""What the commands print, and their exit codes, say what the values say by which the rules go."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.directories.recover_text import ANSWERS
from replica.doctor.check.catalogue import groups
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import ScenarioSafety
from tests.contradictions.answers import RUNS, Answers, write
from tests.contradictions.conftest import Told
from tests.jobs.conftest import Ended, kraftlake  # noqa: F401

SEEDS = ("--seeds", f"{RUNS.start}:{RUNS.stop}")
CLUSTERS = ("ghost-writes", "lost-disks", "flipped-bit", "seed-0")


@pytest.fixture(scope="module", params=CLUSTERS)
def printed_of(
    request: pytest.FixtureRequest, told: Told, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Answers, Path]:
    """The answers about a cluster, and the folder of its directories."""
    answers, folder = told(request.param), tmp_path_factory.mktemp(request.param)
    write(answers.given.newest, folder)
    return answers, folder


def test_recover_says_what_its_plan_and_its_runs_say(printed_of, kraftlake) -> None:  # noqa: F811
    answers, folder = printed_of
    ended: Ended = kraftlake("recover", "--plan", folder)
    told = ANSWERS[answers.plan.answer]
    said, *_ = ended.answer_lines[0].split(", if ")  # what it rests on where a voter wasn't given
    assert said == f"cluster {answers.given.cluster_id}: {told}"
    assert (ended.code == 0) == (answers.plan.answer is RecoveryDecision.SAFE)
    rows = kraftlake("recover", "--plan", "--rehearse", *SEEDS, "--json", folder).answers
    assert {row["answer"] for row in rows} == {answers.plan.answer.value}
    assert {row["rehearsed"]["answer"] for row in rows} == {answers.rehearsed_plan.answer.value}


def test_rehearse_says_what_its_runs_say(printed_of, kraftlake) -> None:  # noqa: F811
    answers, folder = printed_of
    ended: Ended = kraftlake("rehearse", *SEEDS, "--failures", "0", folder)
    answer = answers.rehearsed.answer
    safe = 4 if "safe, if its needs hold" in ended.out else 0
    codes = {ScenarioSafety.SAFE: safe, ScenarioSafety.UNSAFE: 1, ScenarioSafety.UNKNOWN: 3}
    assert ended.code == codes[answer]
    assert answer.value in ended.out.lower()


def test_plan_says_what_its_reasons_say(printed_of, kraftlake) -> None:  # noqa: F811
    answers, folder = printed_of
    for ids, stop in answers.stops.items():
        named_ids = ",".join(map(str, ids))
        (row,) = kraftlake("plan", "--stop-broker", named_ids, "--json", folder).answers
        assert row["answer"] == stop.answer.value
    assert answers.stops


def test_exposure_prints_each_failure(printed_of, kraftlake) -> None:  # noqa: F811
    answers, folder = printed_of
    rows = kraftlake("state", "--exposure", "--json", folder).answers
    printed = [(row["kind"], tuple(row["gone"]), row["leaderless"]) for row in rows]
    expected = [(*one.failure, one.harm.leaderless) for one in answers.exposed]
    if groups.CONFLICT.id in answers.between:
        expected = []  # the figures would be those of one of two histories
    assert printed == expected


def test_timeline_prints_each_event(printed_of, kraftlake) -> None:  # noqa: F811
    answers, folder = printed_of
    if len(answers.given.looks) > 1:
        pytest.skip("the folder has the newest look alone")
    rows = kraftlake("timeline", "--json", folder).rows
    printed = {(row["event"], row["offset"], row["cause"]) for row in rows}
    assert printed == {(one.event, one.offset, one.cause) for one in answers.events}
