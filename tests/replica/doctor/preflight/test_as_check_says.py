"""What to do before a change begins with what `check` says to do, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from replica.doctor.check.catalogue.files import ELECTIONS_WITHOUT_WINNER
from replica.doctor.health.cluster import Cluster, Lag
from replica.doctor.health.copy_first import copies_first, steps_if_lost
from replica.doctor.preflight.answer import Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.preflight.upgrading import upgrade
from replica.doctor.preflight.voters import add_voter, remove_voter, to_dynamic
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.facts import verdict_on, verdict_on_state
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import Level, MissingVoters
from replica.model.keys import ReplicaKey
from tests.replica.doctor.health.test_absent_directories import WHOLE, of_12
from tests.replica.doctor.preflight.clusters import (
    TOPIC_ID,
    Record,
    broker,
    cluster,
    controller,
    known,
    partition,
)
from tests.replica.doctor.preflight.test_quorum_and_levels import dynamic
from tests.replica.doctor.verdict.test_lost_directories import a_dead_disk


@pytest.mark.parametrize("stopped", [12, 13, None])
def test_a_broker_without_one_of_its_disks_runs_on_until_the_others_have_started(
    stopped: int | None,
) -> None:
    """Restarted before, it may lead without records, and broker 12 then deletes its own."""
    of = a_dead_disk()
    (said,) = verdict_on_state(of).next_steps[:1]
    assert "Leave broker 13 running. Before any restart of it: start broker 12" in said
    found = roll(of) if stopped is None else stop_brokers(of, [stopped])
    first, second, *_ = found.first
    assert first == (
        "leave broker 13 running, whose log directory is offline, and before any restart of it "
        "start node 12 (if its process runs, find out why it can't reach the controllers, and end "
        "a process that hangs), wait until it is in sync, and ask again"
    )
    assert second.startswith("keep the files of the log directory of broker 13 that is offline")


def without_winner(*, is_dynamic: bool) -> Cluster:
    """Of four voters 1 and 2 elect nobody, and 3 and 4 were not given: the verdict says so."""
    failing = PlacedFinding("node 1", ELECTIONS_WITHOUT_WINNER.at("1", "epoch 9, the log's 3"))
    quorum = known(1, 2, 3, 4, doubts={3: VoterDoubt.NOT_GIVEN, 4: VoterDoubt.NOT_GIVEN})
    verdict = verdict_on(
        ClusterEvidence(
            findings=(failing, failing._replace(where="node 2")),
            health=(),
            voters=("1", "2", "3", "4"),
            known_voters=quorum.voters,
            missing=MissingVoters(frozenset({ReplicaKey(3), ReplicaKey(4)}), 4, frozenset({1, 2})),
        )
    )
    assert verdict.level is Level.OUTAGE
    of = dynamic((1, 2, 3, 4))
    if not is_dynamic:
        of = cluster(controller(3, kraft=0), voters=(1, 2, 3, 4))
    return with_verdict(replace(of, quorum=quorum), verdict)


START = (
    "start node 3 or 4 with its own disk, whichever still has it: with nodes 1 and 2 it is a "
    "majority of the 4 voters"
)


@pytest.mark.parametrize("is_leaderless", [False, True])
def test_without_a_leader_the_first_step_starts_the_voters_that_check_starts(
    is_leaderless: bool,
) -> None:
    """`make sure that the quorum has a leader` says nothing to somebody whose quorum has none."""
    of = without_winner(is_dynamic=True)
    assert of.quorum is not None
    of = replace(of, quorum=replace(of.quorum, is_leaderless=is_leaderless))
    for found in (remove_voter(of, 4), add_voter(of, 5), roll(of)):
        assert grounded(found, of).first[0] == f"{START}; then ask again with new copies"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda of: remove_voter(of, 4), "kraft.version is 0: the voters are static, and Kafka"),
        (lambda of: add_voter(of, 5), "kraft.version is 0: the voters are static, and Kafka"),
        (lambda of: add_voter(of, 4), "node 4 is a voter already: Kafka refuses it"),
        (lambda of: to_dynamic(of), "voter 3 does not support kraft.version 1"),
        (lambda of: upgrade(of, "4.4"), "broker 1 supports 3.3-IV3 to 4.1-IV1"),
    ],
    ids=["remove", "add", "add a voter again", "to dynamic", "upgrade"],
)
def test_what_kafka_refuses_in_any_case_is_the_reason_and_nobody_asks_again(
    change: Callable[[Cluster], Preflight], why: str
) -> None:
    """A leader changes nothing about it; the step still says what brings one back."""
    of = without_winner(is_dynamic=False)
    found = grounded(change(of), of)
    first = found.reasons[0]
    assert f"{first.subject} {first.detail}".startswith(why)
    assert any(one.subject == "quorum" for one in found.reasons)
    assert found.first == (START,)
    assert not any("have to run" in need for need in found.needs)


def hanging() -> Cluster:
    """Of three nodes that are voters and brokers, 2 hangs and was fenced. The logs end at once."""
    topic: Record = ("TOPIC_RECORD", 0, {"name": "orders", "topicId": TOPIC_ID})
    brokers = (broker(1), broker(2, fenced=True), broker(3))
    of = dynamic((1, 2, 3), *brokers, topic, partition(0, (1, 2, 3), isr=(1, 3)))
    of = replace(of, broker_defaults={"min.insync.replicas": "2"})
    more = {"quorum": known(1, 2, 3), "now": 1_764_500_000_000, "lags": {2: Lag(100, 82_000)}}
    return replace(of, vanished=frozenset({2}), **more)


NEWEST = (
    "if node 1 or 3 is down since 2025-11-30 10:53:20 UTC, where all logs here end, start it "
    "before any other node, with its own disk"
)


def test_the_nodes_with_the_newest_logs_start_before_a_voter_that_hung() -> None:
    """As in the step of check: a leader that was killed since leaves no record of it."""
    of = hanging()
    for found in (roll(of), stop_brokers(of, [1]), stop_brokers(of, [3])):
        assert found.first[0] == NEWEST
        assert found.first[1].startswith(
            "start node 2 (if its process runs, find out why it can't reach the controllers, and "
            "end a process that hangs)"
        )
    (told, *_) = roll(of).reasons
    assert told.detail.startswith("was fenced without a shutdown: it crashed, hangs or is cut off.")
    not_given = replace(of, quorum=known(1, 2, 3, doubts={3: VoterDoubt.NOT_GIVEN}))
    for other in (not_given, replace(of, now=None), replace(of, lags={})):
        assert NEWEST not in roll(other).first


def test_the_removal_of_a_voter_that_hangs_needs_that_it_is_gone_and_that_the_others_run() -> None:
    found = remove_voter(hanging(), 2)
    assert found.is_conditional
    assert found.needs == (
        "2 of the voters [1, 3] have to run and be caught up: no log shows that; " + NEWEST,
        "voter 2 has to be gone for good: with its own disk it votes again",
    )
    assert len(remove_voter(dynamic((1, 2, 3)), 2).needs) == 1, "it runs, as far as the log shows"


def test_a_start_says_what_to_do_if_a_directory_that_was_not_given_is_lost() -> None:
    """As in the step of check: once the broker has started without it, it is too late."""
    of = of_12(WHOLE)
    lost = steps_if_lost(copies_first(of))
    assert lost in verdict_on_state(of).next_steps[0]
    for found in (roll(of), stop_brokers(of, [12])):
        copy, _, start = found.first[0].partition(lost)
        assert "Do not start broker 12 while one of its 2 log directories is missing" in copy
        assert start.startswith(" Then start node 12")
