"""Changes of the voter set and of metadata.version."""

from __future__ import annotations

from replica.format.control import KRaftVersion
from replica.health.cluster import Cluster
from replica.metadata.image.replay import Replay
from replica.preflight.answer import ChangeSafety, Preflight
from replica.preflight.upgrading import upgrade
from replica.preflight.voters import add_voter, remove_voter, to_dynamic
from tests.replica.preflight.clusters import (
    Record,
    broker,
    cluster,
    controller,
    image_of,
    level,
)


def dynamic(voters: tuple[int, ...], *records: Record) -> Cluster:
    replay = Replay(image_of((level("metadata.version", 25), *records)))
    replay.apply(99, KRaftVersion(0, 1))
    return Cluster(replay.image(), voters=frozenset(voters))


def details(found: Preflight) -> str:
    return "; ".join(f"{reason.subject} {reason.detail}" for reason in found.reasons)


def test_a_voter_of_three_may_be_removed_while_the_others_run() -> None:
    found = remove_voter(dynamic((1, 2, 3)), 3)
    assert found.answer is ChangeSafety.SAFE
    assert found.needs == ("2 of the voters [1, 2] have to run and be caught up",)
    assert "0 may fail" in details(found)


def test_strangers_and_the_last_voter_are_not_removed() -> None:
    assert remove_voter(dynamic((1, 2, 3)), 9).answer is ChangeSafety.UNSAFE
    assert remove_voter(dynamic((1,)), 1).answer is ChangeSafety.UNSAFE


def test_static_voters_are_not_changed() -> None:
    static = cluster(voters=(1, 2, 3))
    for found in (remove_voter(static, 1), add_voter(static, 4)):
        assert found.answer is ChangeSafety.UNSAFE
        assert "kraft.version is 0" in details(found)


def test_a_voter_is_added_once_it_runs_as_an_observer() -> None:
    assert add_voter(dynamic((1, 2, 3)), 2).answer is ChangeSafety.UNSAFE
    assert add_voter(dynamic((1, 2, 3)), 4).answer is ChangeSafety.UNKNOWN
    assert add_voter(dynamic((1, 2, 3), controller(4)), 4).answer is ChangeSafety.SAFE
    old = add_voter(dynamic((1, 2, 3), controller(4, kraft=0)), 4)
    assert old.answer is ChangeSafety.UNSAFE
    assert "does not support kraft.version 1" in details(old)


def test_static_voters_become_dynamic_once_all_of_them_are_of_kafka_4_1() -> None:
    ready = cluster(*(controller(one) for one in (1, 2, 3)), voters=(1, 2, 3))
    assert to_dynamic(ready).answer is ChangeSafety.SAFE
    missing = cluster(controller(1), controller(2), voters=(1, 2, 3))
    assert "voter 3 is not registered" in details(to_dynamic(missing))
    older = cluster(controller(1), controller(2, newest=25), voters=(1, 2))
    assert "voter 2 is older than Kafka 4.1" in details(to_dynamic(older))
    assert "3.9 says that it has done it, and does nothing" in details(to_dynamic(older))
    assert to_dynamic(cluster()).answer is ChangeSafety.UNKNOWN


def test_metadata_version_is_raised_where_every_node_supports_it() -> None:
    assert upgrade(cluster(), "4.1").answer is ChangeSafety.SAFE
    found = upgrade(cluster(broker(2, newest=25)), "4.1")
    assert found.answer is ChangeSafety.UNSAFE
    assert "broker 2 supports 3.3-IV3 to 4.0-IV3" in details(found)
    gone = upgrade(cluster(broker(2, newest=25, fenced=True)), "4.1")
    assert "unregister it" in details(gone)


def test_a_controller_without_a_vote_that_blocks_it_is_told_how_to_remove() -> None:
    ghost = cluster(controller(1), controller(9, newest=25), voters=(1,))
    found = upgrade(ghost, "4.1")
    assert found.answer is ChangeSafety.UNSAFE
    assert "controller 9" in details(found)
    assert "if its node is gone" in details(found)


def test_metadata_version_is_not_lowered() -> None:
    assert upgrade(cluster(), "3.9").answer is ChangeSafety.UNSAFE
    assert upgrade(cluster(), "4.0").answer is ChangeSafety.SAFE
