"""Which broker comes back first: by the partitions whose leaders that brings back."""

from __future__ import annotations

from dataclasses import replace

from jobs.cli.directories.recover_brokers import steps_of_brokers
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.live_replicas import Alike
from replica.doctor.health.returning import Returning, returning
from replica.doctor.preflight.stopping import awaited_replicas
from replica.doctor.verdict.facts import verdict_on_state
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import a_partition, cluster_after, directory_of, healthy
from tests.replica.metadata.image.made import broker_change, feature

ELR = "eligible.leader.replicas.version"
GONE = [broker_change(brokerId=one, fenced=1) for one in (11, 12, 13)]


def out(number: int, *isr: int, **more: object) -> object:
    return a_partition(number, isr=isr, leader=NO_NODE, **more)  # type: ignore[arg-type]


def cluster(*records: object, **more: object) -> Cluster:
    return cluster_after([*healthy(), *records, *GONE], **more)


def test_the_broker_that_brings_most_partitions_back_is_first() -> None:
    """Broker 13 alone holds an in-sync replica of one, and shares the others with 12."""
    found = returning(cluster(out(0, 11), out(1, 12, 13), out(2, 12, 13), out(3, 13)))
    assert found == (Returning(13, 3), Returning(11, 1), Returning(12, 0))


def test_an_eligible_replica_leads_where_none_is_in_sync_and_one_on_a_lost_disk_does_not() -> None:
    eligible = {"eligibleLeaderReplicas": (12,)}
    lost = {"directories": (directory_of(99), directory_of(12), directory_of(13))}
    found = returning(cluster(out(0, **eligible), out(1, 13, **eligible), out(2, 11, **lost)))
    assert found == (Returning(12, 2), Returning(11, 0), Returning(13, 0))


WAITING = (
    {"isr": (12,)},
    {"isr": (13,), "eligibleLeaderReplicas": (12,)},
    {"eligibleLeaderReplicas": (12, 13)},
    {"lastKnownElr": (12,)},
    {"lastKnownElr": ()},
)


def test_a_broker_that_exposure_and_plan_wait_for_brings_the_partition_back() -> None:
    """A partition waits for each replica that Kafka may elect: in sync or eligible or, if there is
    none, the last known leader."""
    for waits in WAITING:
        made = cluster(a_partition(**{"isr": (), "leader": NO_NODE, **waits}))  # type: ignore[arg-type]
        (key,) = made.partitions
        awaited = awaited_replicas(made, made.partitions[key])
        kind = Alike.of(made.partitions[key], None, made.online_directories).kind(frozenset())
        assert kind.awaited == set(awaited)
        brings = [one for one in returning(made) if one.partitions]
        assert brings == [Returning(one, 1) for one in sorted(awaited)[:1]], waits


def test_the_steps_of_a_recovery_start_the_brokers_as_the_verdict_says() -> None:
    state = [out(0, 11), out(1, 12, 13), out(2, 12, 13), out(3, 13)]
    for is_eligible in (False, True):
        more = [feature(ELR, 1)] if is_eligible else []
        made = cluster(*state, *more, vanished=frozenset({13}))
        verdict = verdict_on_state(made)
        step = steps_of_brokers(made, verdict).start
        assert step is not None
        assert step.text == f"Once there is a leader: {verdict.next_steps[0]}"
        first, *then = (12, 11, 13) if is_eligible else (13, 11, 12)
        more = "11 (1 more) and 13 (perhaps 1 more)" if is_eligible else "11 (1 more) and 12"
        assert verdict.next_steps[0].startswith(
            f"Start broker {first} first: it can lead {2 if is_eligible else 3} of the 4 "
            f"partitions. Then start brokers {more}. If broker 13 runs, find out why"
        )
        told = [str(command).rpartition(" ")[2] for command in step.commands]
        assert told == [str(one) for one in (first, *then)]


def test_a_broker_that_crashed_comes_after_those_that_surely_bring_leaders_back() -> None:
    """Once it registers, a broker that crashed is no eligible replica any more (KIP-966)."""
    waits = {"eligibleLeaderReplicas": (12, 13)}
    for level, expected in (
        (0, (Returning(12, 2), Returning(11, 0), Returning(13, 0))),
        (1, (Returning(13, 2), Returning(11, 0), Returning(12, 0, is_sure=False))),
    ):
        made = cluster(out(0, **waits), out(1, **waits), feature(ELR, level))
        assert returning(replace(made, vanished=frozenset({12}))) == expected


def test_where_no_start_brings_a_partition_back_there_is_no_such_step() -> None:
    led = cluster_after(healthy())
    assert steps_of_brokers(led, verdict_on_state(led)) == (None, None, None)
    nobody = cluster(out(0), out(1))
    assert steps_of_brokers(nobody, verdict_on_state(nobody)).start is None


def test_what_a_start_discards_is_copied_in_a_step_without_a_start() -> None:
    """Whoever pastes the commands of one step after the other has the copy before the start."""
    unclean = a_partition(0, (11, 12), isr=(11,), leader=11, leaderRecoveryState=1)
    made = cluster_after([*healthy(), unclean, out(1, 12), GONE[1]])
    verdict = verdict_on_state(made)
    assert verdict.next_steps[0].startswith("First copy the log directories of broker 12. Then ")
    copy, start, _ = steps_of_brokers(made, verdict)
    assert copy is not None
    assert start is not None
    assert copy.text.startswith("Copy the log directories of broker 12. The start of broker 12 dis")
    assert [command.partition(" ")[0] for command in copy.commands] == [
        "LOG_DIR=/var/lib/kafka/data",
        "cp",
    ]
    assert start.text.startswith("Once there is a leader: Start broker 12")
    assert "copy" not in start.text
    assert all("start.sh" in command for command in start.commands)
