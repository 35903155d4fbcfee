"""A real cluster that is played from a seed, and kraftlake's answers held to what was done to it.
`python -m tests.interop.recorder` does the same for as many seeds as you like."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.recorder.answers import Answers, asked
from tests.interop.recorder.cluster import CLUSTER_ID
from tests.interop.recorder.recording import COPIES, recorded
from tests.interop.recorder.script import (
    RELEASES,
    End,
    How,
    Kind,
    Round,
    Script,
    Shape,
    Shown,
    Wait,
    Who,
    drawn,
)
from tests.interop.recorder.script import CreateTopic as Create
from tests.interop.recorder.statements import Is, judged
from tests.interop.recorder.story import STOP, Down, Story, loaded


def test_a_seed_draws_the_same_script_each_time_and_another_seed_another_one() -> None:
    scripts = [drawn(seed) for seed in range(60)]
    assert scripts == [drawn(seed) for seed in range(60)]
    assert len({repr(one.rounds) for one in scripts}) == len(scripts)
    assert {one.shape.version for one in scripts} == set(RELEASES)
    assert {one.shape.kind for one in (*scripts, drawn(0, is_migrated=True))} == set(Kind)


@pytest.mark.parametrize(("ended_ms_ago", "is_"), [(9_500, Is.UNKNOWN), (15_000, Is.WRONG)])
@pytest.mark.parametrize("is_down", [True, False], ids=["stopped", "an older copy"])
def test_a_controller_whose_log_ends_as_a_copy_made_a_moment_earlier_shows_nothing(
    ended_ms_ago: int, is_: Is, is_down: bool
) -> None:
    copied = 1_000_000
    story = Story(1, Kind.THREE.value, NEWEST, False, [1, 2, 3], [11], CLUSTER_ID, copied=copied)
    if is_down:
        story.down = [Down(3, copied - ended_ms_ago, How.KILL.value)]
    else:
        story.shown, story.shown_node = Shown.OLDER.value, 3
        story.backup = copied - ended_ms_ago
    told = {kind: is_ for kind, is_, _ in _all(story, _healthy())}
    assert told["who_is_down_is_named"] is is_
    assert told["healthy_is_said_of_what_is_whole"] is is_


def _healthy() -> Answers:
    verdict = {"kind": "verdict", "cluster_id": CLUSTER_ID, "level": "healthy", "facts": []}
    verdict |= {"headline": "No fault found", "not_judged": []}
    return Answers([verdict], [], [], [], [], CLUSTER_ID)


@pytest.mark.parametrize(("ended_ms_ago", "is_"), [(3_000, Is.UNKNOWN), (15_000, Is.WRONG)])
def test_no_file_shows_a_broker_that_ended_less_than_its_session_ago(
    ended_ms_ago: int, is_: Is
) -> None:
    down = [Down(12, 1_000_000 - ended_ms_ago, How.KILL.value)]
    story = Story(
        1, Kind.ONE.value, NEWEST, False, [1], [11, 12], CLUSTER_ID, down=down, copied=1_000_000
    )
    story.done = [[f"{STOP} 11", "safe", "works: False", ""]]
    told = {kind: is_ for kind, is_, _ in _all(story, _healthy())}
    assert told["a_safe_answer_held"] is is_


def test_a_log_that_ends_with_the_majority_is_as_long_as_the_newest_one() -> None:
    down = [Down(node, 1_000_000, How.KILL.value) for node in (1, 2)]
    story = Story(
        1, Kind.THREE.value, NEWEST, False, [1, 2, 3], [11], CLUSTER_ID, down=down, copied=2_000_000
    )
    assert [story.lag_ms(node) for node in story.ends_early] == [0, 0]


@pytest.mark.slow
def test_answers_about_a_real_cluster_are_right_and_planted_stories_are_wrong(
    tmp_path: Path,
) -> None:
    """One cluster: a broker that is down while a topic is made, and then nothing that is wrong."""
    class_path_or_skip()
    shape = Shape(Kind.ONE, NEWEST, False, None, 2_000)
    topics = tuple(Create(name, 2, 2, (("retention.ms", "100000"),)) for name in ("a", "b"))
    down = (End(Who.BROKER, How.KILL), Wait(10))
    rounds = (Round(topics, down, Shown.ALL), Round((), (Wait(2),), Shown.ALL))
    places = list(recorded(tmp_path, Script(1, shape, rounds)))
    for place in places:
        story, answers = _asked(place)
        assert _wrong(story, answers) == set()
    assert answers.level == "healthy"
    assert {kind for kind, is_, _ in _all(story, answers) if is_ is Is.RIGHT} > {
        "records_are_those_of_kafka_s_dump",
        "the_state_is_what_kafka_described",
        "who_led_an_epoch_led_it",
    }
    for planted, expected in PLANTED:
        other = deepcopy(story)
        planted(other)
        assert expected in _wrong(other, answers), expected


def _no_broker(story: Story) -> None:
    story.down = [Down(11, story.copied - 60_000, "SIGKILL")]


PLANTED: tuple[tuple[Callable[[Story], object], str], ...] = (
    (lambda story: story.acknowledged.topics.update(c=1), "acknowledged_topics_are_there"),
    (lambda story: story.acknowledged.topics.pop("a"), "acknowledged_topics_are_there"),
    (
        lambda story: story.acknowledged.configs["topics a"].update({"retention.ms": "5"}),
        "acknowledged_configs_are_there",
    ),
    (
        lambda story: story.acknowledged.users.append("u"),
        "acknowledged_rights_and_limits_are_there",
    ),
    (lambda story: setattr(story.sights[0], "leader", 2), "who_led_an_epoch_led_it"),
    (_no_broker, "who_is_down_is_named"),
    (_no_broker, "healthy_is_said_of_what_is_whole"),
    (lambda story: story.dumps.update(x="unlike"), "records_are_those_of_kafka_s_dump"),
    (lambda story: story.done.append(["a stop", "safe", "lost", ""]), "a_safe_answer_held"),
)


def _asked(place: Path) -> tuple[Story, Answers]:
    return loaded(place), asked((place / COPIES).iterdir(), CLUSTER_ID)


def _all(story: Story, answers: Answers) -> list[tuple[str, Is, str]]:
    return [(one.kind, one.is_, one.text) for one in judged(story, answers)]


def _wrong(story: Story, answers: Answers) -> set[str]:
    return {kind for kind, is_, _ in _all(story, answers) if is_ is Is.WRONG}
