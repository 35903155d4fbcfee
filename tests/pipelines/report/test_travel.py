"""The journey through a cluster's history: its steps, states, judged moments and its JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from jobs.cli.sharing.report import source
from pipelines.html_text import in_script
from pipelines.lake import Lake
from pipelines.report import queries
from pipelines.report.gathering import gather
from pipelines.report.lanes import Fills
from pipelines.report.page import render
from pipelines.report.summary import outages
from pipelines.report.travel.cluster_history import ClusterHistory
from pipelines.report.travel.gathering import gather_history
from pipelines.report.travel.moments import Why, chosen, thinned
from pipelines.report.travel.packed import LONGEST
from pipelines.report.travel.steps import ABSENT, Followed, Move, ReportSteps, steps_of
from pipelines.report.travel.strip import at_most, draw, troubles
from tests.pipelines.report import small_lake
from tests.pipelines.report.journeys import journey, partition, version
from tests.pipelines.report.pages import Reported, change, report_of
from tests.pipelines.report.reading import read_page
from tests.pipelines.report.small_lake import capture, together


@pytest.fixture
def history(tmp_path: Path) -> ClusterHistory:
    return _trip(small_lake.write_lake(tmp_path / "lake", journey()))


def _trip(lake: Path, share: int = 1000) -> ClusterHistory:
    asked = source(Lake(lake))
    found = gather_history(asked, gather(asked, asked.ask(queries.CLUSTERS)[0]), share)
    assert found is not None
    return found


def _states(followed: Followed, step: int) -> dict[str, Any]:
    found = {}
    for move in followed.moves:
        if move.step <= step:
            found[followed.names[move.entity]] = move.after
    return {name: followed.states[place] for name, place in found.items() if place != ABSENT}


def test_each_step_is_an_offset_at_which_something_changed_or_an_epoch_began(
    history: ClusterHistory,
) -> None:
    assert history.steps.offsets == (0, 1, 2, 3, 4, 5, 7, 10, 12, 13)
    assert history.steps.elections == (0, 10)
    assert history.steps.times[8] == small_lake.at(12).timestamp() * 1000


def test_partitions_and_brokers_are_what_they_were_at_each_step(history: ClusterHistory) -> None:
    steps = history.steps
    assert _states(steps.partitions, steps.place(3)) == {}
    before, after = (_states(steps.partitions, steps.place(at)) for at in (12, 13))
    assert before["orders-0"][:3] == (11, (11, 12), (11, 12))
    assert after["orders-0"][:3] == (-1, (11,), (11, 12))
    assert after["orders-1"] == before["orders-1"]
    assert _states(steps.brokers, steps.place(10)) == {
        "broker 11": (0, None),
        "broker 12": (0, None),
    }
    assert _states(steps.brokers, steps.place(12))["broker 11"] == (1, None)
    assert troubles(steps)[-2:] == [(0, 0), (1, 1)]


def test_the_most_partitions_without_leader_are_of_those_that_existed_then(
    tmp_path: Path,
) -> None:
    """The third partition was deleted before the first two lost their leaders."""
    led, alone = (11, (11,), (11,)), (ABSENT, (11,), (11,))
    moves = [
        *(Move(0, entity, ABSENT, 0) for entity in range(3)),
        Move(1, 2, 0, ABSENT),
        Move(2, 0, 0, 1),
        Move(2, 1, 0, 1),
    ]
    partitions = Followed(["a-0", "a-1", "b-0"], [led, alone], moves)
    steps = ReportSteps((5, 6, 7), (1, 2, 3), (), partitions, Followed())
    assert at_most(steps, [one for one, _ in troubles(steps)]) == (2, 2, 2)
    (outage,) = outages(steps)
    assert (outage.most, outage.of) == (2, 2)
    asked = source(Lake(small_lake.write_lake(tmp_path / "lake", journey())))
    evidence = gather(asked, asked.ask(queries.CLUSTERS)[0])
    history = gather_history(asked, evidence, 1000)
    assert history is not None
    fills = Fills(row["leader_id"] for row in evidence.leaders.rows)
    drawn = draw("strip", replace(history, steps=steps), evidence, fills)
    assert "At most 2 of 2 partitions without leader." in str(drawn)
    well = ReportSteps(
        (5,), (1,), (), Followed(["a-0"], [led], [Move(0, 0, ABSENT, 0)]), Followed()
    )
    none = replace(well, partitions=Followed())
    for steps, told in (
        (well, "At each of these moments all partitions had a leader and all replicas in sync."),
        (none, "There was no partition."),
    ):
        assert told in str(draw("strip", replace(history, steps=steps), evidence, fills))


def test_of_an_offset_on_two_branches_the_time_on_the_kept_one_counts() -> None:
    lost = {"offset": 4, "at_ms": 7, "is_lost": True}
    kept = {**lost, "at_ms": 9, "is_lost": False}
    epoch = {"start_offset": 5, "started_at": "1970-01-01T00:00:00.020"}
    steps = steps_of([lost, kept, {**lost, "offset": 5}, {**lost, "offset": 6}], [], [epoch])
    assert dict(zip(steps.offsets, steps.times, strict=True)) == {4: 9, 5: 20, 6: 7}


def test_an_entity_that_is_gone_is_absent_until_it_is_there_again() -> None:
    spans = (2, 4), (4, 6), (9, None)
    rows = [
        version("partition", "t:0", "t-0", partition(11, [11]), spans[0]),
        version("partition", "t:0", "t-0", partition(12, [11]), spans[1]),
        version("partition", "t:0", "t-0", partition(11, [11]), spans[2]),
    ]
    for row in rows:
        row |= {"from_ms": 1, "to_ms": None}
    steps = steps_of([], rows, [])
    assert steps.offsets == (2, 4, 6, 9)
    moves = [(move.step, move.before, move.after) for move in steps.partitions.moves]
    assert moves == [(0, ABSENT, 0), (1, 0, 1), (2, 1, ABSENT), (3, ABSENT, 0)]


def test_health_and_exposure_are_those_of_the_moment(history: ClusterHistory) -> None:
    by_end = {one.moment.end_offset: one for one in history.judgements}
    assert len(by_end) == len(history.steps.offsets)
    rules = {end: {finding.rule.id for finding in one.findings} for end, one in by_end.items()}
    assert "partition-without-leader" not in rules[6] | rules[13]
    assert "partition-without-leader" in rules[15]
    worst = by_end[15].exposures[0]
    assert (worst.failure.kind, worst.harm.leaderless) == ("nothing", 1)
    assert [one.failure.gone for one in by_end[15].exposures[1:]] == [("12",)]
    assert by_end[15].moment.why is Why.NEWEST


def _plain_steps(count: int) -> ReportSteps:
    numbers = tuple(range(count))
    return ReportSteps(numbers, numbers, (10, 20), Followed(), Followed())


def test_of_many_moments_the_rules_choose_and_an_even_rest_fills_up() -> None:
    fenced = [{"entity": "broker", "offset": at, "is_lost": False} for at in range(100, 200)]
    known = [{"from_offset": 0, "to_offset": 1000}]
    found = chosen(_plain_steps(1000), fenced, known, [500], 10)
    assert len(found) == 24
    by_rule = {why: [one.step for one in found if one.why is why] for why in Why}
    assert by_rule[Why.NEWEST] == [999]
    assert len(by_rule[Why.BROKERS]) == 12
    assert by_rule[Why.BROKERS][::11] == [100, 199]
    assert by_rule[Why.ELECTIONS] == [10, 20]
    assert by_rule[Why.LOSSES] == [499]
    assert len(by_rule[Why.EVENLY]) == 8


def test_a_large_cluster_has_fewer_judged_moments_and_an_unknown_state_none() -> None:
    known = [{"from_offset": 0, "to_offset": 1000}]
    assert len(chosen(_plain_steps(1000), [], known, [], 50_000)) == 2
    assert [one.why for one in chosen(_plain_steps(9), [], known, [], 10**7)] == [Why.NEWEST]
    assert chosen(_plain_steps(1000), [], [], [], 10) == ()
    hole = [{"from_offset": 0, "to_offset": 5}, {"from_offset": 900, "to_offset": 1000}]
    ends = [one.end_offset for one in chosen(_plain_steps(1000), [], hole, [], 10)]
    assert all(end <= 5 or end >= 900 for end in ends)


def test_thinning_keeps_the_ends() -> None:
    assert thinned([1, 2, 3], 3) == [1, 2, 3]
    assert thinned(list(range(101)), 3) == [0, 50, 100]
    assert thinned([1, 2, 3], 1) == [3]
    assert thinned([1, 2, 3], 0) == []


def test_above_its_share_a_cluster_is_sampled_by_rules_that_the_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = [
        change("config_set", 6, entity="config", key=f"k{n}", name=f"topic t{n}: x")
        for n in range(50)
    ]
    lake = small_lake.write_lake(
        tmp_path / "lake", together(journey(), {"gold.metadata_changes": flood})
    )
    found = _trip(lake, share=12)
    assert found.is_sampled
    assert found.all_changes == 60
    kept = {(row["change"], row["name"]) for row in found.changes.rows}
    assert len(found.changes.rows) + len(found.versions.rows) <= 24
    assert ("broker_fenced", "broker 11") in kept
    assert ("topic_created", "ghost") in kept
    assert ("leader_changed", "orders-0") in kept
    assert sum(name.startswith("topic t") for _, name in kept) < 12
    assert {row["name"] for row in found.versions.rows} >= {"broker 11", "broker 12", "orders-0"}
    monkeypatch.setattr("pipelines.report.gathering.MAX_CHANGES", 12)
    page = read_page(render(report_of(lake)))
    assert "Sampled: " in page.text
    assert "of 60 changes" in page.text


def test_the_page_says_at_which_moments_health_is_judged(reported: Reported) -> None:
    _, page = reported(journey())
    assert "Health and exposure are judged at every moment." in page.text


def test_a_report_keeps_no_rows_of_a_journey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def gathered(*given: Any) -> ClusterHistory | None:
        history = gather_history(*given)
        assert history is not None
        made.append(ref(history))
        return history

    monkeypatch.setattr("pipelines.report.gathering.gather_history", gathered)
    report = report_of(small_lake.write_lake(tmp_path / "lake", journey()))
    assert report.clusters[0].travel is not None
    assert [one() for one in made] == [None]


def test_a_lake_without_typed_changes_has_no_journey(reported: Reported) -> None:
    report, page = reported({"bronze.captures": [capture(1, 1)]})
    assert report.clusters[0].travel is None
    assert "The cluster at any moment" not in page.text


def test_a_hostile_name_neither_ends_the_data_nor_begins_a_script(reported: Reported) -> None:
    hostile = "</script><script>alert(1)</script><!--\u2028\u202e\x1b&"
    report, page = reported(journey(topic=hostile))
    assert len(page.named("script")) == 2
    travel = report.clusters[0].travel
    assert travel is not None
    assert not {"<", ">", "&", "\u2028"} & set(travel.data)
    texts = json.loads(travel.data)["texts"]
    assert any(text.startswith("</script><script>alert(1)</script><!--\\u2028") for text in texts)
    assert in_script("</script>") == '"\\u003c/script\\u003e"'


def test_long_values_are_cut_and_redacted_ones_stay_redacted(reported: Reported) -> None:
    report, _ = reported(journey(config=f"***0123456789abcdef{'x' * 500}"))
    travel = report.clusters[0].travel
    assert travel is not None
    (text,) = (one for one in json.loads(travel.data)["texts"] if "salt" in one)
    assert text.startswith('{"salt": "***0123456789abcdef')
    assert len(text) == LONGEST + 1
