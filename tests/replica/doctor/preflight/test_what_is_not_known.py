"""What an answer rests on and nothing shows is a condition; where nothing is left to do, no change
is called safe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from replica.doctor.health.cluster import Cluster, Lag
from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.decommissioning import decommission
from replica.doctor.preflight.downgrading import NodeReading, downgrade_binaries
from replica.doctor.preflight.migrating import finish_migration
from replica.doctor.preflight.reassigning import reassign
from replica.doctor.preflight.reassignment_file import Assignment
from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.preflight.upgrading import downgrade, upgrade
from replica.doctor.preflight.voters import add_voter, remove_voter, to_dynamic
from replica.doctor.quorum.known_voter import NOT_AT_HAND, VoterDoubt
from replica.model.keys import ReplicaKey
from tests.replica.doctor.preflight.clusters import (
    broker,
    cluster,
    controller,
    known,
    partition,
)
from tests.replica.doctor.preflight.test_quorum_and_levels import dynamic

LATE = "node 2 (offset 99, 14.3 s earlier) has to be caught up: its log ends before the newest one"


def late(of: Cluster) -> Cluster:
    return replace(of, lags={2: Lag(100, 14_321)})


def controllers(**more: object) -> Cluster:
    return cluster(*map(controller, (1, 2, 3, 4)), voters=(1, 2, 3), **more)


@pytest.mark.parametrize(
    "found",
    [
        stop_brokers(late(cluster(partition(0, (1, 2)))), [1]),
        decommission(late(cluster(partition(0, (1, 3)))), [1]),
        reassign(late(cluster(partition(0, (1, 3)))), [Assignment("orders", 0, (1, 2))]),
        roll(late(cluster(partition(0, (1, 2))))),
        downgrade_binaries(late(cluster()), "4.0", [NodeReading(2, "node2", ())]),
    ],
    ids=lambda found: found.action,
)
def test_a_node_whose_log_ends_early_is_a_condition_of_what_relies_on_it(found: Preflight) -> None:
    (need,) = (one for one in found.needs if "caught up: " in one and one.startswith("node"))
    assert need.startswith(LATE)


@pytest.mark.parametrize(
    "found",
    [
        stop_brokers(late(cluster(partition(0, (1, 3)))), [1]),
        stop_brokers(late(cluster(partition(0, (1, 2)))), [2]),
        upgrade(late(cluster()), "4.1"),
        decommission(late(cluster()), [1]),
        roll(late(cluster(broker(2, fenced=True), partition(0, (1, 3))))),
    ],
    ids=lambda found: found.action,
)
def test_it_is_none_where_nothing_relies_on_it(found: Preflight) -> None:
    assert not any(need.startswith("node 2") for need in found.needs)


BEHIND = (
    "voter 2 can't be counted: its log ends 14.3 s before the newest one, as of a node that is "
    "stopped or cut off, or of an older disk or copy"
)


def needy(voters: int, *, dynamic_voters: bool = True) -> Cluster:
    """So many voters, one of which is behind, and controller 9, which is none of them."""
    numbers = tuple(range(1, voters + 1))
    registered = map(controller, (*numbers, 9))
    if dynamic_voters:
        return late(dynamic(numbers, *registered))
    return late(cluster(*registered, voters=numbers))


@pytest.mark.parametrize(
    "found",
    [
        stop_brokers(needy(3), [1]),
        stop_brokers(needy(3), [3]),
        stop_brokers(needy(5), [4, 5]),
        remove_voter(needy(3), 1),
        remove_voter(needy(2), 1),
    ],
    ids=["stop 1", "stop 3", "stop 4 and 5", "remove 1 of 3", "remove 1 of 2"],
)
def test_no_change_is_safe_whose_majority_needs_a_voter_that_is_behind(found: Preflight) -> None:
    assert found.answer is ChangeSafety.UNKNOWN
    (reason,) = (one for one in found.reasons if one.answer is ChangeSafety.UNKNOWN)
    assert reason.detail.endswith(f"; {BEHIND}; ask again with new copies once it has caught up")
    assert not any("node 2" in need or "no log shows" in need for need in found.needs)


def test_voters_that_are_behind_are_named_together() -> None:
    of = replace(needy(5), lags={2: Lag(100, 14_321), 3: Lag(90, 19_000)})
    (reason,) = stop_brokers(of, [1]).reasons
    assert reason.detail == (
        "2 of 5 voters are left, 3 are needed; voters 2 and 3 can't be counted: their logs end "
        "14.3 s or more before the newest one, as of nodes that are stopped or cut off, or of "
        "older disks or copies; ask again with new copies once they have caught up"
    )
    assert add_voter(replace(of, voters=frozenset((1, 2, 3))), 9).answer is ChangeSafety.UNKNOWN
    joins = add_voter(replace(needy(1), lags={9: Lag(100, 14_321)}), 9)
    assert joins.answer is ChangeSafety.UNKNOWN, "the majority needs the voter that joins"


def test_a_restart_of_all_nodes_and_dynamic_voters_need_the_voter_that_is_behind() -> None:
    rolled = roll(late(cluster(voters=(1, 2, 3))))
    assert (rolled.answer, rolled.order) == (ChangeSafety.UNKNOWN, ())
    assert BEHIND in rolled.reasons[0].detail
    found = to_dynamic(needy(3, dynamic_voters=False))
    assert found.answer is ChangeSafety.UNKNOWN
    assert [one.subject for one in found.reasons] == ["voter 2"]


@pytest.mark.parametrize(
    "found",
    [
        stop_brokers(needy(3), [2]),
        stop_brokers(needy(5), [1]),
        remove_voter(needy(3), 2),
        remove_voter(needy(5), 5),
        add_voter(needy(3), 9),
    ],
    ids=lambda found: found.action,
)
def test_a_majority_without_the_voter_that_is_behind_is_one(found: Preflight) -> None:
    assert found.answer is ChangeSafety.SAFE
    (need,) = (one for one in found.needs if one.endswith("no log shows that"))
    assert "2" not in re.findall(r"\d+", need.partition("[")[2])


def test_voters_that_were_not_given_are_counted_and_a_healthy_cluster_stays_safe() -> None:
    away = known(1, 2, 3, doubts={1: VoterDoubt.NOT_GIVEN, 3: VoterDoubt.NOT_GIVEN})
    assert stop_brokers(controllers(quorum=away), [2]).answer is ChangeSafety.SAFE
    healthy = dynamic((1, 2, 3), *map(controller, (1, 2, 3, 4)))
    for found in (
        stop_brokers(healthy, [1]),
        remove_voter(healthy, 1),
        add_voter(healthy, 4),
        roll(cluster(voters=(1, 2, 3))),
        to_dynamic(controllers()),
    ):
        assert found.answer is ChangeSafety.SAFE
    only_a_broker = replace(healthy, lags={4: Lag(100, 14_321)})
    assert stop_brokers(only_a_broker, [1]).answer is ChangeSafety.SAFE, "4 has no vote"


def unled() -> Cluster:
    """Of voters 1 to 4 the first and the last are caught up, 2 is behind, and 3 wasn't given."""
    quorum = known(1, 2, 3, 4, doubts={3: VoterDoubt.NOT_GIVEN})
    of = dynamic((1, 2, 3, 4), *map(controller, (1, 2, 3, 4, 9)), broker(11), broker(12))
    return replace(late(of), quorum=quorum)


@pytest.mark.parametrize(
    "change",
    [
        lambda of: stop_brokers(of, [11]),
        lambda of: remove_voter(of, 2),
        lambda of: remove_voter(of, 3),
        lambda of: add_voter(of, 9),
        lambda of: add_voter(of, 7),
        lambda of: upgrade(of, "4.1"),
    ],
    ids=["stop a broker", "remove 2", "remove 3", "add 9", "add an unknown node", "upgrade"],
)
def test_no_change_is_safe_where_no_majority_is_known_to_be_caught_up(
    change: Callable[[Cluster], Preflight],
) -> None:
    of = unled()
    found = grounded(change(of), of)
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.reasons[0].subject == "quorum"
    assert found.reasons[0].detail.startswith(
        "has perhaps no leader: 3 of the voters 1, 2, 3 and 4 have to run and be caught up (voter "
        "2 lags behind or is stopped, voter 3 was not given): without one it accepts no change, "
        "gives no partition another leader, and lets no broker that stopped come back"
    )
    assert found.first[0] == (
        "if kafka-metadata-quorum.sh describe --status names no leader, start voter 2 with its own "
        "disk: with voters 1 and 4 it is a majority; then ask again with new copies"
    )


def test_a_majority_at_hand_that_is_caught_up_leaves_no_doubt_about_the_leader() -> None:
    of = unled()
    whole = replace(of, quorum=known(1, 2, 3, 4))
    nobody_behind = replace(of, lags={})
    for one in (whole, nobody_behind):
        assert grounded(stop_brokers(one, [11]), one).answer is ChangeSafety.SAFE
    stops = grounded(stop_brokers(of, [1]), of)
    assert [one.subject for one in stops.reasons[:2]] == ["quorum", "voters [1]"], "now, and then"


@pytest.mark.parametrize("doubt", NOT_AT_HAND)
def test_voters_without_a_whole_log_at_hand_are_a_condition(doubt: VoterDoubt) -> None:
    def needs(*unseen: int) -> tuple[str, ...]:
        doubts = dict.fromkeys(unseen, doubt)
        voters = known(1, 2, 3, doubts=doubts)
        cut = tuple(replace(one, cut_copy="n.tar" * bool(one.doubt)) for one in voters.voters)
        of = cluster(quorum=replace(voters, voters=cut))
        return grounded(Preflight("", ()), of).needs

    if doubt is VoterDoubt.CUT:
        (need,) = needs(3)
        assert need == (
            "node 3 has to hold nothing newer: n.tar breaks off, so nobody knows where its log "
            "ends. Copy it again"
        )
    else:
        assert needs(3) == (), "a majority is here"
        assert needs(2, 3) == (
            "voters 2 and 3 have to hold nothing newer: their logs were not given, and the whole "
            "logs of 1 of 3 voters are no majority",
        )


def test_a_disk_that_was_restored_is_no_part_of_a_majority_that_holds_all() -> None:
    """With the voter that wasn't given it may have committed what nobody else holds."""
    stale = known(1, 2, 3, doubts={1: VoterDoubt.NOT_GIVEN, 3: VoterDoubt.STALE})
    (need,) = grounded(Preflight("", ()), cluster(quorum=stale)).needs
    assert need == (
        "voter 1 has to hold nothing newer: its log was not given, and the whole logs of 1 of 3 "
        "voters are no majority"
    )
    none = known(1, 2, doubts={1: VoterDoubt.NOT_GIVEN, 2: VoterDoubt.STALE})
    (need,) = grounded(Preflight("", ()), cluster(quorum=none)).needs
    assert need.endswith("its log was not given, and no voter's whole log is at hand")


def test_no_change_is_safe_by_a_log_that_breaks_off() -> None:
    of = cluster(cut_copy="node3.tar", quorum=known(3, newest=ReplicaKey(3)), end_offset=7)
    found = grounded(Preflight("", ()), of)
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.reasons[0].detail.startswith("is known up to offset 6 only: node3.tar breaks off")


@pytest.mark.parametrize(
    "found",
    [
        finish_migration(cluster()),
        to_dynamic(dynamic((1, 2, 3))),
        upgrade(cluster(), "4.0"),
        downgrade(cluster(), "4.0"),
        reassign(cluster(partition(0, (1, 2))), [Assignment("orders", 0, (1, 2))]),
    ],
    ids=lambda found: found.action,
)
def test_where_nothing_is_to_be_done_the_change_is_not_called_safe(found: Preflight) -> None:
    assert found.answer is ChangeSafety.NOTHING_TO_DO
    assert grounded(found, cluster(is_whole=False)).answer is ChangeSafety.UNKNOWN
    again = [Assignment("orders", 0, (1, 2)), Assignment("orders", 1, (1, 3))]
    two = cluster(partition(0, (1, 2)), partition(1, (1, 2)))
    assert reassign(two, again).answer is ChangeSafety.SAFE, "one of them changes"
