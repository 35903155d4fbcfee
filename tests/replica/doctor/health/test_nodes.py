"""Health of controllers, voters, features, brokers and their directories."""

from __future__ import annotations

import pytest

from replica.doctor.health.brokers import LOST_DIRECTORY, UNASSIGNED_DIRECTORY
from replica.doctor.health.copy_first import CopyFirst, copies_first, copy_step
from replica.metadata.record import MetadataRecord, new_record
from tests.replica.doctor.health.clusters import (
    RELEASES,
    a_broker,
    a_controller,
    a_partition,
    above_notes,
    cluster_after,
    directory_of,
    healthy,
    judged,
    names,
    voters,
)
from tests.replica.doctor.preflight.clusters import known
from tests.replica.metadata.image.made import broker_change, feature

OLD, NEW, NEWEST = RELEASES["4.1-IV1"], RELEASES["4.3-IV0"], RELEASES["4.4-IV2"]


def test_a_healthy_cluster_has_no_finding() -> None:
    assert judged(healthy()) == {}


def test_an_empty_log_has_no_finding() -> None:
    assert judged([]) == {}


def test_a_controller_without_a_vote_is_a_note_while_it_blocks_nothing() -> None:
    found = judged([*healthy(), a_controller(4)])
    assert list(found) == ["controller-without-vote"]
    finding = found["controller-without-vote"]
    assert names(finding) == ["controller 4"]
    assert finding.message == "1 registered, but the voters are [1, 2, 3]"
    assert above_notes(found) == []


def test_a_controller_without_a_vote_that_keeps_a_feature_back_is_a_warning() -> None:
    upgraded = [
        *(a_controller(one, level=NEW) for one in (1, 2, 3)),
        *(a_broker(one, level=NEW) for one in (11, 12, 13)),
    ]
    found = judged([*healthy(), a_controller(4, level=OLD), *upgraded])
    assert above_notes(found) == ["ghost-blocks-feature"]
    (subject,) = found["ghost-blocks-feature"].subjects
    assert subject.name == "controller 4"
    assert subject.what.startswith("metadata.version: supports 4.1-IV1, others 4.3-IV0; ")


@pytest.mark.parametrize(
    ("level", "command"),
    [
        (OLD, "node.id=4 of the newer release, formatted with --no-initial-controllers"),
        (NEWEST, "unregister-controller --bootstrap-controller HOST:PORT --id 4"),
    ],
)
def test_the_way_to_remove_a_ghost_is_that_of_the_release_at_hand(level: int, command: str) -> None:
    found = judged([*healthy(level), a_controller(4, level=level)])
    (subject,) = found["controller-without-vote"].subjects
    assert command in subject.what


def test_a_node_that_votes_is_no_ghost_but_may_block_a_feature() -> None:
    upgraded = [a_controller(one, level=NEW) for one in (2, 3)]
    found = judged([*healthy(), *upgraded])
    assert above_notes(found) == []
    assert names(found["feature-blocked"]) == [
        "broker 11",
        "broker 12",
        "broker 13",
        "controller 1",
    ]
    assert found["feature-blocked"].message == "metadata.version"


def test_a_metadata_version_below_what_all_nodes_support_is_named_by_its_release() -> None:
    found = judged([*healthy(NEWEST), feature("metadata.version", OLD)])
    finding = found["metadata-version-behind"]
    assert finding.message == "4.1-IV1 is finalized; all 6 nodes support 4.4-IV2"


def test_a_voter_without_a_registration_is_told() -> None:
    found = judged([*healthy(), voters(1, 2, 3, 4, 5), a_controller(4)])
    (subject,) = found["voter-not-registered"].subjects
    assert subject.name == "voter 5"
    assert "kafka-metadata-quorum.sh" in subject.what
    assert " remove-controller --controller-id 5 --controller-directory-id " in subject.what


def test_no_voter_of_a_static_quorum_is_to_be_removed() -> None:
    static = [record for record in healthy() if getattr(record, "type", "")]
    found = judged(static, voters=frozenset({1, 2, 3, 4}))
    (subject,) = found["voter-not-registered"].subjects
    assert subject.name == "voter 4"
    assert "the quorum is static, so no voter can be removed" in subject.what
    assert "remove-controller" not in subject.what


def test_registrations_are_not_asked_of_a_release_that_has_none() -> None:
    records = [feature("metadata.version", 14), voters(1, 2, 3)]
    assert judged(records) == {}


def test_a_voter_at_another_address_than_its_registration_is_told() -> None:
    found = judged([*healthy(), a_controller(2, port=19093)])
    (subject,) = found["voter-endpoints-differ"].subjects
    assert subject.name == "voter 2"
    assert subject.what == "CONTROLLER at c2:9093 in the voter set, c2:19093 in its registration"


@pytest.mark.parametrize(
    ("ids", "rules", "may_fail"),
    [
        ((1,), ["few-voters"], "none"),
        ((1, 2), ["even-voters", "few-voters"], "none"),
        ((1, 2, 3, 4), ["even-voters"], "1"),
        ((1, 2, 3, 4, 5), [], "2"),
    ],
)
def test_even_and_small_numbers_of_voters_are_notes(
    ids: tuple[int, ...], rules: list[str], may_fail: str
) -> None:
    found = judged([*healthy(), *map(a_controller, ids), voters(*ids)])
    told = {name: one for name, one in found.items() if name.endswith("-voters")}
    assert sorted(told) == rules
    assert all(one.message.endswith(f": {may_fail} may fail") for one in told.values())
    assert above_notes(found) == []


def test_voters_of_a_static_quorum_are_counted_too() -> None:
    static = [record for record in healthy() if getattr(record, "type", "")]
    found = judged(static, voters=frozenset({1, 2}))
    assert {"even-voters", "few-voters", "controller-without-vote"} <= set(found)
    assert not any(name.endswith("voters") for name in judged(static))


def test_brokers_that_hold_replicas_and_are_fenced_or_gone_are_told_with_how_many() -> None:
    records = [
        *healthy(),
        a_broker(12, fenced=True),
        a_partition(1, (11, 12, 14)),
        a_partition(2, (12, 11, 13), leader=11),
    ]
    found = judged(records)
    (fenced,) = found["replica-on-fenced-broker"].subjects
    assert (fenced.name, fenced.what) == ("broker 12", "fenced, 3 replicas")
    (gone,) = found["replica-on-unregistered-broker"].subjects
    assert (gone.name, gone.what) == ("broker 14", "1 replica")
    assert found["replica-on-unregistered-broker"].message == "1 of 4 brokers that hold replicas"


def test_a_broker_whose_start_discards_records_is_copied_first() -> None:
    """orders-1 was elected uncleanly while brokers 12 and 14 were down; broker 13 runs, and has
    truncated its replica already."""
    records = [
        *healthy(),
        a_broker(12, fenced=True),
        a_partition(0, isr=(11, 13)),
        a_partition(1, (11, 12, 13, 14), isr=(11,), leaderRecoveryState=1),
        a_partition(2, (11, 13), isr=(11,), leaderRecoveryState=1),
    ]
    found = judged(records)
    (fenced,) = found["replica-on-fenced-broker"].subjects
    assert fenced.what == "fenced, 2 replicas; copy its log directories before it starts"
    (gone,) = found["replica-on-unregistered-broker"].subjects
    assert gone.what == "1 replica; copy its log directories before it starts"
    copies = copies_first(cluster_after(records))
    assert copies == (CopyFirst(12, ("orders-1",)), CopyFirst(14, ("orders-1",)))
    assert copy_step(copies, [12]) == "First copy the log directories of broker 12."
    assert copy_step(copies) == "First copy the log directories of brokers 12 and 14."
    assert copy_step(copies, [11]) == ""


def test_a_fenced_broker_without_replicas_is_no_finding() -> None:
    assert judged([*healthy(), a_broker(14, fenced=True)]) == {}


def test_a_broker_that_shuts_down_is_not_live() -> None:
    found = judged([*healthy(), a_broker(1), a_partition(1, (1, 11)),
                    broker_change(inControlledShutdown=1)])  # fmt: skip
    (subject,) = found["replica-on-fenced-broker"].subjects
    assert (subject.name, subject.what) == ("broker 1", "shutting down, 1 replica")


def test_replicas_in_lost_and_in_unassigned_directories_are_separate_findings() -> None:
    elsewhere = directory_of(99)
    records = [
        *healthy(),
        a_partition(1, directories=(LOST_DIRECTORY, elsewhere, directory_of(13))),
        a_partition(2, directories=(UNASSIGNED_DIRECTORY, *map(directory_of, (12, 13)))),
    ]
    found = judged(records)
    assert [(s.name, s.what) for s in found["replica-in-lost-directory"].subjects] == [
        ("orders-1", "on broker 11, in a directory that was lost"),
        ("orders-1", f"on broker 12, in directory {elsewhere}, not online"),
    ]
    assert names(found["replica-in-no-directory"]) == ["orders-2"]


def test_directories_of_releases_that_name_none_are_not_judged() -> None:
    records = [*healthy(), a_broker(11, logDirs=()), a_partition(1, directories=())]
    assert judged(records) == {}


def test_cordoned_directories_are_a_note() -> None:
    found = judged([*healthy(), a_broker(11, cordonedLogDirs=(directory_of(11),))])
    (subject,) = found["cordoned-directory"].subjects
    assert (subject.name, subject.what) == ("broker 11", "1 of its 1 log directories")
    assert above_notes(found) == []


def test_a_state_that_ends_before_the_log_is_told_with_its_offset() -> None:
    found = judged(healthy(), is_whole=False, end_offset=77)
    assert above_notes(found) == ["state-not-whole"]
    assert "up to offset 76" in found["state-not-whole"].message


def migrating(state: int) -> MetadataRecord:
    return new_record("ZK_MIGRATION_STATE_RECORD", 0, {"zkMigrationState": state})


@pytest.mark.parametrize(
    ("state", "of_zookeeper", "rule"),
    [
        (2, True, "zk-migration-waits"),
        (2, False, "zk-migration-waits"),
        (1, True, "zk-migration-runs"),
        (1, False, "zk-migration-runs"),
        (3, True, "zk-broker-left"),
        (3, False, None),
        (0, False, None),
    ],
)
def test_a_migration_from_zookeeper_is_never_healthy_without_a_word(
    state: int, of_zookeeper: bool, rule: str | None
) -> None:
    broker = a_broker(11, isMigratingZkBroker=of_zookeeper)
    found = judged([migrating(2), *healthy(), broker, migrating(state)])
    assert above_notes(found) == ([] if rule is None else [rule])
    if rule is not None:
        names_of = ["ZooKeeper migration", "broker 11"] if of_zookeeper else ["ZooKeeper migration"]
        assert names(found[rule]) == names_of
        word = {1: "MIGRATION", 2: "PRE_MIGRATION", 3: "POST_MIGRATION"}[state]
        assert found[rule].subjects[0].what == word


def test_a_voter_whose_broker_is_fenced_is_named_with_what_is_left() -> None:
    nodes = [a_broker(one, fenced=one == 3) for one in (1, 2, 3)]
    found = judged([*healthy(), *nodes])["voter-on-fenced-broker"]
    assert names(found) == ["voter 3"]
    assert found.message == "1 of 3 voters: 2 are left, 2 are needed"
    assert "voter-on-fenced-broker" not in judged([*healthy(), a_broker(11, fenced=True)])


def test_records_that_no_majority_holds_are_named_with_their_holders() -> None:
    quorum = known(1, 2, 3, held={1: 9, 2: 9, 3: 12})
    found = judged(healthy(), quorum=quorum, end_offset=12, uncommitted_from=9)
    one = found["state-not-committed"]
    assert one.offset == 9
    assert one.message == "offsets 9 to 11 (3 records, of topic orders) are on 1 of 3 voters (3)"
