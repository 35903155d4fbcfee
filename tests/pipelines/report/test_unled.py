"""The first page of a cluster whose quorum has no leader, or perhaps none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.report.evidence import KnownOutages, Outage
from pipelines.report.view import cluster_view
from tests.pipelines.report.journeys import journey
from tests.pipelines.report.pages import Reported
from tests.pipelines.report.small_lake import capture

_FACT = {"severity": "error", "text": "It is so."}


def test_nobody_leads_whose_epoch_was_given_up(reported: Reported) -> None:
    fact = {**_FACT, "level": "outage", "next_step": "", "rules": ["leader-gave-up"]}
    verdict = {"level": "outage", "facts": [fact], "next_steps": []}
    report, page = reported(journey() | {"gold.verdicts": [verdict]})
    assert report.clusters[0].summary.when[-1] == (
        "The captures tell of 2 leader epochs; in the newest, 2, node 3 led from 2026-01-02 "
        "03:04:15 UTC on, and gave up: nobody is known to lead since."
    )
    assert " leads since " not in page.text


def test_nobody_is_said_to_lead_where_the_quorum_has_perhaps_no_leader(
    reported: Reported,
) -> None:
    fact = {**_FACT, "level": "attention", "next_step": "", "rules": ["elections-without-winner"]}
    verdict = {"level": "attention", "facts": [fact], "next_steps": []}
    report, page = reported(journey() | {"gold.verdicts": [verdict]})
    assert report.clusters[0].summary.when[-1] == (
        "The captures tell of 2 leader epochs; in the newest, 2, node 3 led from 2026-01-02 "
        "03:04:15 UTC on, and no election is known that was won since."
    )
    assert " leads since " not in page.text


@pytest.mark.parametrize(
    ("level", "text", "lacked"),
    [
        ("attention", "Node 1: it is so.", "perhaps no leader"),
        ("outage", "The quorum has probably had no leader: so.", "probably no leader"),
        ("outage", "The cluster accepts no change: so.", "no leader"),
    ],
)
def test_no_page_says_that_all_partitions_have_a_leader_and_not_that_the_quorum_may_have_none(
    reported: Reported, level: str, text: str, lacked: str
) -> None:
    rules = ["elections-without-winner"]
    fact = {**_FACT, "level": level, "text": text, "next_step": "", "rules": rules}
    exposed: list[dict[str, Any]] = [
        {"kind": "nothing", "leaderless": 0, "has_majority": True},
        {"kind": "pair", "gone": "11,12", "leaderless": 9, "has_majority": True},
    ]
    report, page = reported(
        {
            "bronze.captures": [capture(1, 1)],
            "gold.failure_exposure": exposed,
            "gold.verdicts": [{"level": level, "facts": [fact], "next_steps": []}],
        }
    )
    assert report.clusters[0].summary.impact[-1] == (
        f"In the newest state that is known all partitions have a leader, but the quorum has "
        f"{lacked}: as long as it has none, the partitions that a failing broker leads get no "
        "other leader."
    )
    assert "If brokers" not in page.text, "that counts as if the quorum elected leaders"
    assert f"The quorum has {lacked} by the verdict: until it has one" in page.text


@pytest.mark.parametrize(
    ("now", "told"),
    [(5, "no leader: 5 of 22."), (4, "no leader: 4 of 22 now, up to 5 before."),
     (None, "no leader: up to 5 of 22.")],
)  # fmt: skip
def test_an_outage_that_lasts_counts_what_has_no_leader_now(
    reported: Reported, now: int | None, told: str
) -> None:
    """As the verdict counts it, also if more partitions had none before."""
    exposed = [{"kind": "nothing", "leaderless": now, "has_majority": True}]
    report, _ = reported(journey() | {"gold.failure_exposure": exposed if now else []})
    outage = Outage(5, 22, 1_767_225_605_250, None, None, is_over=False)
    evidence = replace(report.clusters[0].evidence, outages=KnownOutages((outage,), False, True))
    assert cluster_view(evidence, 1).summary.impact[0].endswith(told)
