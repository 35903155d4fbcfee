"""The verdict: its level, its headline and its steps, whatever the facts and gaps are."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from jobs.cli.commands.directories import CheckOptions
from replica.doctor.verdict.verdict import (
    LEVELS_OF_NEWEST,
    Fact,
    Gap,
    KnownState,
    Level,
    Verdict,
    decide,
    worst,
)
from replica.severity import Severity

_BAD = (Level.OUTAGE, Level.AT_RISK, Level.ATTENTION)
FACTS = st.lists(
    st.builds(
        Fact,
        level=st.sampled_from(_BAD),
        severity=st.sampled_from((Severity.ERROR, Severity.WARNING)),
        text=st.text(min_size=1, max_size=8),
        next_step=st.text(max_size=4),
    ),
    max_size=6,
)
GAPS = st.lists(st.builds(Gap, what=st.text(max_size=4), why=st.text(max_size=4)), max_size=2)


def decided(facts: Sequence[Fact] = (), gaps: Sequence[Gap] = ()) -> Verdict:
    return decide("cluster", facts, gaps, well="No fault found.")


@given(facts=FACTS, gaps=GAPS)
def test_the_level_is_the_worst_of_the_facts_and_never_healthy_beside_a_gap(
    facts: list[Fact], gaps: list[Gap]
) -> None:
    verdict = decided(facts, gaps)
    if facts:
        assert verdict.level is min((one.level for one in facts), key=lambda level: level.rank)
        assert verdict.headline == verdict.facts[0].text
    else:
        assert verdict.level is (Level.INCOMPLETE if gaps else Level.HEALTHY)
    assert sorted(verdict.facts, key=repr) == sorted(facts, key=repr)


@given(facts=FACTS)
def test_facts_come_by_their_weight_and_no_harmless_one_before_an_outage(facts: list[Fact]) -> None:
    weights = [(one.level.rank, one.severity.rank) for one in decided(facts).facts]
    assert weights == sorted(weights)


@given(facts=FACTS)
def test_a_step_against_a_loss_comes_before_all_others_and_none_comes_twice(
    facts: list[Fact],
) -> None:
    steps = decided(facts).next_steps
    careful = {one.next_step for one in facts if one.level is Level.AT_RISK} - {""}
    assert set(steps[: len(careful)]) == careful
    assert len(steps) == len(set(steps))
    assert set(steps) == {one.next_step for one in facts} - {""}


def test_without_facts_and_gaps_the_headline_is_that_of_a_healthy_cluster() -> None:
    assert decided().headline == "No fault found."
    gaps = [Gap("the log of voter 2", "its directory was not given"), Gap("more", "why")]
    assert decided(gaps=gaps).headline == (
        "No fault found in what was given. Not judged: the log of voter 2, and 1 more."
    )


def test_what_closes_a_gap_is_a_step_only_where_nothing_else_is_to_be_done() -> None:
    gap = Gap("whether partitions refuse writes", "nobody knows", "Give the brokers' file.")
    fact = Fact(Level.OUTAGE, Severity.ERROR, "Down.", "Start broker 11.")
    assert decided(gaps=[gap]).next_steps == ("Give the brokers' file.",)
    assert decided([fact], gaps=[gap]).next_steps == ("Start broker 11.",)
    assert decided([fact], gaps=[gap]).not_judged == (gap,)


def test_the_runbook_is_that_of_an_outage_and_not_of_a_harmless_divergence_beside_it() -> None:
    out = Fact(Level.OUTAGE, Severity.ERROR, "Down.", rules=("partition-without-leader",))
    split = Fact(Level.ATTENTION, Severity.WARNING, "Split.", rules=("log-divergence",))
    risk = Fact(Level.AT_RISK, Severity.ERROR, "Old.", rules=("stale-voter",))
    unknown = Fact(Level.OUTAGE, Severity.ERROR, "Down.")
    assert decided([split, out]).runbook == "brokers-down"
    assert decided([split, out, risk]).runbook == "disk-that-forgot"
    assert decided([split, unknown]).runbook == "two-histories"


def test_a_state_names_its_moment_its_last_offset_and_its_source() -> None:
    assert KnownState(1636, 1763704578000, "node 1").text == (
        "2025-11-21 05:56:18 UTC, offset 1635 of node 1"
    )
    assert KnownState(0).text == "before the first record"


def test_the_worst_of_several_verdicts_is_that_of_the_run() -> None:
    outage = decided([Fact(Level.OUTAGE, Severity.ERROR, "Down.")])
    assert worst([decided(), outage]) is Level.OUTAGE
    assert worst([]) is None


def test_airflow_s_gate_knows_the_levels_of_verdicts_worst_first() -> None:
    """The DAG's settings can't import them: Airflow runs in an environment without kraftlake."""
    settings = Path(__file__).parents[4] / "airflow/dags/kraftlake_settings.py"
    named = {
        target.id: ast.literal_eval(node.value)
        for node in ast.parse(settings.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("LEVELS", "_GATE")
    }
    assert named["LEVELS"] == tuple(LEVELS_OF_NEWEST)
    assert {level for levels in named["_GATE"].values() for level in levels} < {*LEVELS_OF_NEWEST}


def test_the_help_of_check_names_the_levels_of_verdicts_worst_first() -> None:
    told = " ".join((CheckOptions.__doc__ or "").split())
    assert f"level ({', '.join(LEVELS_OF_NEWEST)})" in told
