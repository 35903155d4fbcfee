"""Changes of the voter set and of metadata.version."""

from __future__ import annotations

import pytest

from replica.doctor.health.cluster import Cluster
from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.upgrading import downgrade, upgrade
from replica.doctor.preflight.voters import add_voter, remove_voter, to_dynamic
from replica.format.control import KRaftVersion
from replica.metadata.image.replay import Replay
from tests.replica.doctor.preflight.clusters import (
    Record,
    broker,
    cluster,
    controller,
    image_of,
    level,
    partition,
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
    assert found.needs == (
        "2 of the voters [1, 2] have to run and be caught up: no log shows that",
    )
    assert "none may fail" in details(found)


def test_what_a_new_number_of_voters_bears_is_told_where_it_bears_no_more() -> None:
    def note(before: int, after: int) -> str:
        voters = tuple(range(1, before + 1))
        joining = tuple(controller(voter) for voter in range(1, 8))
        of = dynamic(voters, *joining)
        return details(remove_voter(of, before) if after < before else add_voter(of, after))

    soon = "voters 2 may fail: add another one soon"
    assert "of 1 voter none may fail; of the present 2 voters none may fail: add" in note(2, 1)
    assert "of 2 voters none may fail; of the present 1 voter none may fail: an even" in note(1, 2)
    assert "of 3 voters" not in note(2, 3), "it bears more"
    assert f"of 4 voters 1 may fail; of the present 5 {soon}" in note(5, 4)
    assert "of 3 voters" not in note(4, 3), "it bears as much, by one voter less"


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
    silent = ("REGISTER_CONTROLLER_RECORD", 0, {"controllerId": 4, "features": ()})
    assert add_voter(dynamic((1, 2, 3), silent), 4).answer is ChangeSafety.UNSAFE


def test_a_broker_with_replicas_is_not_unregistered_for_an_upgrade() -> None:
    held = cluster(broker(2, newest=25, fenced=True), partition(0, (1, 2), isr=(1,)))
    told = details(upgrade(held, "4.1"))
    assert "if it is gone for good, `kraftlake plan --decommission 2` says what has to move" in told
    assert "unregister it" not in told


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
    silent = ("REGISTER_BROKER_RECORD", 3, {"brokerId": 2, "brokerEpoch": 2, "features": ()})
    assert "broker 2 supports none" in details(upgrade(cluster(silent), "4.1"))


def test_a_controller_without_a_vote_that_blocks_it_is_told_how_to_remove() -> None:
    ghost = cluster(controller(1), controller(9, newest=25), voters=(1,))
    found = upgrade(ghost, "4.1")
    assert found.answer is ChangeSafety.UNSAFE
    assert "controller 9" in details(found)
    assert "if its node is gone" in details(found)


@pytest.mark.parametrize(("state", "is_refused"), [(1, True), (2, True), (3, False), (0, False)])
def test_metadata_version_stays_while_a_migration_from_zookeeper_is_under_way(
    state: int, is_refused: bool
) -> None:
    """Kafka 3.9: "Unable to modify metadata.version while a ZK migration is in progress"."""
    record = ("ZK_MIGRATION_STATE_RECORD", 0, {"zkMigrationState": state})
    for found in (upgrade(cluster(record), "4.1"), downgrade(cluster(record, level_now=27), "4.0")):
        assert found.answer is (ChangeSafety.UNSAFE if is_refused else ChangeSafety.SAFE)
        assert ("until the migration has ended" in details(found)) == is_refused


def test_an_upgrade_lowers_nothing_and_says_whether_a_downgrade_does() -> None:
    assert upgrade(cluster(), "4.0").answer is ChangeSafety.NOTHING_TO_DO
    to_newer = upgrade(cluster(level_now=27), "4.0")
    assert to_newer.answer is ChangeSafety.UNSAFE
    assert "`plan --downgrade 4.0` judges the way down" in details(to_newer)
    for_good = upgrade(cluster(level_now=27), "3.9")
    assert for_good.answer is ChangeSafety.UNSAFE
    assert "refuses the downgrade, too: 4.0-IV1 changed what records say" in details(for_good)


@pytest.mark.parametrize(
    ("now", "release", "is_taken"),
    [(27, "4.0", True), (25, "3.9", False), (21, "3.8", True), (20, "3.7", True),
     (33, "4.3", False), (30, "4.2", False), (29, "4.1", True)],
)  # fmt: skip
def test_metadata_version_is_lowered_where_no_level_between_changed_records(
    now: int, release: str, is_taken: bool
) -> None:
    found = downgrade(cluster(broker(1, newest=33), level_now=now), release)
    assert found.answer is (ChangeSafety.SAFE if is_taken else ChangeSafety.UNSAFE)
    assert is_taken or "also with --unsafe" in details(found)


def test_a_downgrade_names_what_a_forced_one_would_lose_and_the_features_to_lower_too() -> None:
    kept = downgrade(cluster(broker(1, newest=33), level_now=33), "4.3")
    assert "(ACLs for ranges of addresses and unregistered controllers)" in details(kept)
    long = downgrade(cluster(broker(1, newest=33), level_now=33), "3.9")
    assert ": 4.0-IV1, 4.3-IV0, 4.4-IV1 and 1 more changed what records say" in details(long)
    streams = cluster(broker(1, newest=33), level("streams.version", 1), level_now=29)
    found = downgrade(streams, "4.1")
    assert found.answer is ChangeSafety.SAFE
    assert details(found) == (
        "streams.version is at 1; lower it to 0 before the nodes run Kafka 4.1"
    )


def test_a_downgrade_is_refused_by_nodes_that_support_only_newer_levels() -> None:
    newer = broker(2, newest=27)
    newer[2]["features"][0]["minSupportedVersion"] = 26
    found = downgrade(cluster(newer, level_now=27), "4.0")
    assert found.answer is ChangeSafety.UNSAFE
    assert "broker 2 supports 4.1-IV0 to 4.1-IV1" in details(found)


def test_a_downgrade_raises_nothing() -> None:
    found = downgrade(cluster(level_now=25), "4.1")
    assert found.answer is ChangeSafety.UNSAFE
    assert "is at 4.0-IV3, which is lower" in details(found)
    as_it_is = downgrade(cluster(level_now=25), "4.0")
    assert as_it_is.answer is ChangeSafety.NOTHING_TO_DO


def test_a_change_of_voters_counts_no_node_whose_broker_is_fenced() -> None:
    fenced = dynamic((1, 2, 3), broker(2, fenced=True), broker(3))
    removed = remove_voter(fenced, 3)
    assert removed.answer is ChangeSafety.UNSAFE
    assert "1 of 2 voters are left, 2 are needed; voter 2 is down: " in details(removed)
    assert remove_voter(fenced, 2).answer is ChangeSafety.SAFE, "the one that is down"
    two_down = dynamic((1, 2, 3), broker(1, fenced=True), broker(2, fenced=True), controller(4))
    assert add_voter(two_down, 4).answer is ChangeSafety.UNSAFE
    assert add_voter(dynamic((1, 2, 3), broker(2, fenced=True), controller(4)), 4).needs[0] == (
        "3 of the voters [1, 3, 4] have to run and be caught up: no log shows that"
    )


TODAY = "of the voters [{}] have to run and be caught up: they elect the leader that takes the"


@pytest.mark.parametrize(
    ("found", "today"),
    [
        (remove_voter(dynamic((1, 2, 3, 4)), 3), "3 " + TODAY.format("1, 2, 3, 4")),
        (remove_voter(dynamic((1, 2)), 2), "2 " + TODAY.format("1, 2")),
        (add_voter(dynamic((1, 2, 3, 4), controller(5)), 5), "3 " + TODAY.format("1, 2, 3, 4")),
        (remove_voter(dynamic((1, 2, 3)), 3), ""),
        (add_voter(dynamic((1, 2, 3), controller(4)), 4), ""),
    ],
    ids=["remove of 4", "remove of 2", "add to 4", "remove of 3", "add to 3"],
)
def test_the_voters_of_today_elect_who_takes_a_change_of_the_voters(
    found: Preflight, today: str
) -> None:
    """The need stands first, and only where the majority of the new voters isn't one of today's."""
    assert found.answer is ChangeSafety.SAFE
    assert sum("they elect the leader" in need for need in found.needs) == bool(today)
    assert found.needs[0].startswith(today)


def test_no_voter_is_removed_where_the_voters_of_today_have_no_majority() -> None:
    down = dynamic((1, 2), broker(2, fenced=True))
    found = remove_voter(down, 2)
    assert found.answer is ChangeSafety.UNSAFE
    assert "1 of 2 voters are left, 2 are needed; voter 2 is down" in details(found)


def test_static_voters_of_which_one_is_down_do_not_become_dynamic_for_certain() -> None:
    records = (*(controller(one) for one in (1, 2, 3)), broker(3, fenced=True))
    found = to_dynamic(cluster(*records, voters=(1, 2, 3)))
    assert found.answer is ChangeSafety.UNKNOWN
    assert "voter 3 is down, as its broker is fenced" in details(found)
