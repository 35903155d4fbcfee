"""The finding about nodes that were put back to a release which can't read a level, and what the
verdict makes of it."""

from __future__ import annotations

from typing import Any

from replica.doctor.health.cluster import Lag
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on, verdict_on_state
from replica.doctor.verdict.verdict import Level
from replica.model.keys import ReplicaKey
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_controller,
    cluster_after,
    healthy,
    judged,
    names,
)
from tests.replica.metadata.image.made import feature

RULE = "level-not-supported"
BACK = "last registered with Kafka 4.0's levels (up to 4.0-IV3), which can't read metadata.version"
TOLD = f"Controller 3 {BACK} 4.1-IV0: it ends soon after each start."
STEP = "Give controller 3 Kafka 4.1 or newer, then start it with its own disk. Format nothing"


def upgraded(*more: Any) -> list[Any]:
    """A cluster at metadata.version 4.1-IV0, all of whose nodes ran Kafka 4.1."""
    return [*healthy(), feature("metadata.version", 26), *more]


def test_a_controller_that_registers_with_older_levels_cannot_read_the_log() -> None:
    assert RULE not in judged(upgraded())
    before = [*healthy(25), feature("metadata.version", 26)]
    assert RULE not in judged(before), "which Kafka refuses: an older log may have had other levels"
    found = judged(upgraded(a_controller(3, level=25)))[RULE]
    assert names(found) == ["controller 3"]
    assert found.subjects[0].what == f"{BACK} 4.1-IV0"
    assert found.subjects[0].offset == len(upgraded())
    assert found.message == "Kafka 4.1 or newer supports the finalized levels"


def test_so_can_no_broker_and_each_feature_counts() -> None:
    found = judged(upgraded(a_broker(11, level=25)))[RULE]
    assert names(found) == ["broker 11"]
    shared = judged([*healthy(), feature("share.version", 1), a_broker(11)])[RULE]
    assert names(shared) == ["broker 11"], "it registered later, and names no such feature"
    assert shared.subjects[0].what.endswith("can't read share.version 1 (it supports 0)")
    assert RULE not in judged([*healthy(), feature("kraft.version", 1), a_broker(11)])


def test_a_controller_that_is_no_voter_may_be_gone() -> None:
    assert RULE not in judged(upgraded(a_controller(4, level=25)))


def test_the_verdict_gives_the_release_before_it_starts_the_node() -> None:
    verdict = verdict_on_state(cluster_after(upgraded(a_controller(3, level=25))))
    assert verdict.level is Level.ATTENTION
    assert verdict.headline == TOLD
    assert verdict.next_steps[0].startswith(STEP)


def test_a_quorum_without_leader_says_it_with_its_first_step() -> None:
    quorum = KnownQuorum(is_leaderless=True, gave_up=ReplicaKey(1))
    lags = {2: Lag(5, 27_100), 3: Lag(9, 6_000)}
    state = upgraded(a_controller(3, level=25))
    found = judged(state, quorum=quorum, lags=lags)
    verdict = verdict_on(ClusterEvidence(health=tuple(found.values())))
    assert verdict.level is Level.OUTAGE
    assert verdict.headline.endswith(TOLD)
    assert verdict.next_steps[0].startswith(STEP)
    assert "Start nodes 2 and 3" in verdict.next_steps[0]
    assert sum(RULE in fact.rules for fact in verdict.facts) == 1, "said once"


def test_the_needed_release_may_be_one_that_is_not_known() -> None:
    found = judged([*healthy(), feature("metadata.version", 90), a_controller(3)])[RULE]
    assert found.message.startswith("a release after Kafka ")
