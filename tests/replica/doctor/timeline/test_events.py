"""Events of brokers' directories and of partitions; which nodes hold an event's record."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.timeline.branch import branches_of
from replica.doctor.timeline.decisive import decisive, has_other_directories
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.events import timeline
from replica.format.discovery import discover
from replica.message.primitives import uuid_text
from tests.replica.doctor.check.editing import append, metadata, segment
from tests.replica.doctor.health.clusters import directory_of
from tests.replica.doctor.timeline.test_branch import DYNAMIC, look, the_branch
from tests.replica.metadata.image.made import TOPIC

DATA = Path(__file__).parents[3] / "data"
OTHER = directory_of(99)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A recorded node, with a broker 21 that has two directories, and the topic moved."""
    copy = Path(shutil.copytree(DATA / f"{DYNAMIC}/final/3", tmp_path / "node"))
    registers(copy, directory_of(21), OTHER)
    record(copy, "TOPIC_RECORD", name="moved", topicId=TOPIC)
    return copy


def record(node: Path, record_type: str, later_ms: int = 1000, **fields: object) -> None:
    append(segment(node, 2722), metadata(record_type, **fields), later_ms=later_ms)


def registers(node: Path, *directories: str, epoch: int = 5000, **more: object) -> None:
    fields = {"brokerId": 21, "brokerEpoch": epoch, "fenced": False, "logDirs": directories}
    value = metadata_of_version("REGISTER_BROKER_RECORD", 3, {**fields, **more})
    append(segment(node, 2722), value, later_ms=1000)


def metadata_of_version(record_type: str, version: int, fields: dict[str, object]) -> bytes:
    from replica.metadata.codec import encode
    from replica.metadata.record import new_record

    return encode(new_record(record_type, version, fields))  # type: ignore[arg-type]


def partition(node: Path, number: int, directory: str, **fields: object) -> None:
    usual = {"partitionId": number, "topicId": TOPIC, "replicas": (21,), "isr": (21,)}
    more = {"leader": 21, "directories": (directory,)}
    value = metadata_of_version("PARTITION_RECORD", 1, {**usual, **more, **fields})
    append(segment(node, 2722), value)


def change(node: Path, number: int, version: int = 1, **fields: object) -> None:
    key = {"partitionId": number, "topicId": TOPIC}
    value = metadata_of_version("PARTITION_CHANGE_RECORD", version, {**key, **fields})
    append(segment(node, 2722), value)


def events(node: Path, *kinds: str) -> list[Event]:
    found = [examine(one) for one in discover([str(node)])]
    (branch,) = branches_of([found])
    return [event for event in timeline(branch).events if event.event in kinds]


def test_lost_and_cordoned_directories_are_events(node: Path) -> None:
    of_broker = {"brokerId": 21, "brokerEpoch": 5000}
    for fields in (
        {"cordonedLogDirs": (OTHER,)},
        {"cordonedLogDirs": ()},
        {"logDirs": (directory_of(21),)},
    ):
        value = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 3, {**of_broker, **fields})
        append(segment(node, 2722), value, later_ms=1000)
    told = events(node, "broker_directories_changed", "broker_cordoned_directories_changed")
    assert [(one.name, one.detail) for one in told] == [
        ("broker 21", f"cordoned directory {OTHER}"),
        ("broker 21", f"took back directory {OTHER}"),
        ("broker 21", f"lost directory {OTHER}"),
    ]


def test_the_last_sign_of_life_of_a_fenced_broker_is_told(node: Path) -> None:
    """A controller fences a broker some time after its last heartbeat, which no log holds."""
    for later_ms, fields in (
        (9500, {"fenced": 1}),
        (500, {"fenced": -1, "inControlledShutdown": 1}),
        (1500, {"fenced": 1}),
    ):
        more = {"brokerId": 21, "brokerEpoch": 5000, **fields}
        value = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 1, more)
        append(segment(node, 2722), value, later_ms=later_ms)
    told = [one.detail for one in events(node, "broker_fenced") if one.name == "broker 21"]
    assert [re.sub("offset [0-9]+", "offset N", one) for one in told] == [
        "was last seen alive in the log 10.5 s before, at offset N",
        "had asked for its shutdown 1.5 s before",
    ]


def broker_changes(node: Path, later_ms: int, **fields: object) -> None:
    value = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 1, {"brokerId": 21, **fields})
    append(segment(node, 2722), value, later_ms=later_ms)


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("is_fenced_first", [False, True])
def test_how_a_fenced_broker_came_back_is_told(
    node: Path, is_restarted: bool, is_fenced_first: bool
) -> None:
    """A controller may also fence a broker with the registration of its next process."""
    epoch = 5000
    if is_fenced_first:
        broker_changes(node, 2000, brokerEpoch=epoch, fenced=1)
    if is_restarted:
        epoch, process = 5001, uuid_text(b"another-process!")
        registers(node, directory_of(21), epoch=epoch, incarnationId=process, fenced=True)
    broker_changes(node, 1000, brokerEpoch=epoch, fenced=-1)
    told = [one.detail for one in events(node, "broker_unfenced") if one.name == "broker 21"]
    how, took = "after" if is_restarted else "without", 1 + (is_restarted and is_fenced_first)
    expected = f"came back {how} a restart, {took}.0 s after it was fenced"
    assert told == [expected] * (is_fenced_first or is_restarted)


def test_values_of_configs_are_told_unless_they_may_be_secrets(node: Path) -> None:
    for name, value in (
        ("retention.ms", "60000"),
        ("retention.ms", "1000"),
        ("retention.ms", None),
        ("some.password", "hidden"),
        ("of.a.plugin", "hidden"),
        ("advertised.listeners", "http://user:hidden@host"),
    ):
        fields = {"resourceType": 2, "resourceName": "moved", "name": name, "value": value}
        record(node, "CONFIG_RECORD", **fields)
    (branch,) = branches_of([[examine(one) for one in discover([str(node)])]])
    told = timeline(branch, also=("config_set", "config_removed")).events
    told = [one for one in told if one.name.startswith("topic moved: ")]
    assert [one.detail for one in told] == ["now 60000", "60000 -> 1000", "was 1000", "", "", ""]
    assert "hidden" not in str(told)


def test_configs_of_the_bootstrap_are_no_late_changes() -> None:
    """The first leader writes them with metadata.version: nobody changed anything then."""
    branch = the_branch(look("kafka-4.4.0-dynamic/live"))
    told = timeline(branch, also=("config_set", "config_removed"))
    (born,) = (
        one.at
        for one in told.events
        if one.event == "metadata_version_changed" and one.detail.startswith("none -> ")
    )
    configs = [one.at for one in told.events if one.event.startswith("config_")]
    of_bootstrap = configs.count(born)
    assert of_bootstrap
    assert told.asked_for.since(0)["config"] == len(configs)
    assert told.asked_for.since(born - 1)["config"] == len(configs) - of_bootstrap
    assert all(one.at != born for one in told.recent)


def test_a_broker_that_registers_without_a_directory_says_so(node: Path) -> None:
    registers(node, directory_of(21), epoch=5001)
    told = events(node, "broker_registered")[-1]
    assert told.detail.startswith("again, ")
    assert f", without directory {OTHER}, broker epoch" in told.detail


def test_unclean_elections_of_one_moment_are_one_event(node: Path) -> None:
    for number in range(4):
        partition(node, number, directory_of(21), replicas=(21, 22), directories=())
    for number in range(4):
        change(node, number, leader=21, leaderRecoveryState=1)
    record(node, "NO_OP_RECORD")
    change(node, 1, leaderRecoveryState=0)
    (told,) = events(node, "unclean_election")
    assert told.name == "broker 21"
    assert told.detail == (
        "elected uncleanly: moved-0, moved-1, moved-2 and 1 more; any record that the new "
        "leaders lacked is lost"
    )


def test_a_leader_that_is_the_only_replica_is_not_said_to_lack_what_another_one_had(
    node: Path,
) -> None:
    partition(node, 0, directory_of(21))
    change(node, 0, leader=21, leaderRecoveryState=1)
    (told,) = events(node, "unclean_election")
    assert "lacked" not in told.detail
    assert told.detail.endswith(
        "each has no other replica, so any record that its broker hadn't written is lost"
    )


@pytest.mark.parametrize("has_followed", [True, False])
def test_an_unclean_leader_in_a_new_directory_may_be_empty(node: Path, has_followed: bool) -> None:
    """Its broker was installed anew, with the same id, while the partition had no leader."""
    partition(node, 0, directory_of(21), replicas=(21, 22), directories=(directory_of(21), OTHER))
    partition(node, 1, directory_of(21))
    for number in range(2):
        change(node, number, leader=-1, isr=())
    registers(node, OTHER, epoch=5001)
    change(node, 0, directories=(OTHER, OTHER))
    change(node, 1, directories=(OTHER,))
    if has_followed:
        change(node, 0, leader=22, isr=(22, 21))
        change(node, 0, leader=-1, isr=())
    for number in range(2):
        change(node, number, leader=21, isr=(21,), leaderRecoveryState=1)
    told = {one.detail.split()[2]: one.detail for one in events(node, "unclean_election")}
    empty = "the log directories that held them are gone, so the new leaders may have begun empty"
    assert f"moved-1; {empty}, and no other replica exists: keep" in told["moved-1;"]
    assert (f"moved-0; {empty}: keep" in told["moved-0;"]) == (not has_followed)


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_leader_in_another_directory_is_an_event_where_the_old_one_is_lost(
    node: Path, is_lost: bool
) -> None:
    partition(node, 0, directory_of(21))
    if is_lost:
        registers(node, OTHER, epoch=5001)
    change(node, 0, directories=(OTHER,))
    told = events(node, "leader_in_new_directory")
    assert [one.name for one in told] == (["broker 21"] if is_lost else [])


def test_each_event_names_the_nodes_whose_logs_hold_its_record() -> None:
    told = timeline(the_branch(look(f"{DYNAMIC}/split"))).events
    nodes = {one.offset: one.nodes for one in told if one.event.startswith("broker_")}
    assert nodes
    first, last = min(nodes), max(nodes)
    assert nodes[first] == (1, 2, 3, 11, 12)
    assert last > 1526  # where nodes 2 and 11 left the branch
    assert nodes[last] == (1, 3, 12)


def test_the_first_word_that_there_is_nothing_is_no_event(node: Path) -> None:
    record(node, "ZK_MIGRATION_STATE_RECORD", zkMigrationState=0)
    fields = {"brokerId": 21, "brokerEpoch": 5000, "cordonedLogDirs": ()}
    value = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 3, fields)
    append(segment(node, 2722), value, later_ms=1000)
    kinds = ("zk_migration_state_changed", "broker_cordoned_directories_changed")
    assert events(node, *kinds) == []


@pytest.mark.parametrize("captures", [("split",), ("live", "split", "final")])
def test_sentences_name_nodes_and_have_a_verb(captures: tuple[str, ...]) -> None:
    told = timeline(the_branch(*(look(f"{DYNAMIC}/{one}") for one in captures))).events
    by_kind = {one.event: one for one in told}
    parted = by_kind["divergence"]
    assert parted.name == "nodes 2 and 11"
    assert parted.detail.startswith("held 22 records from offset 1526 on that the agreed branch")
    elected = [one.detail for one in told if one.event == "election" and " after " in one.detail]
    assert any("leads epoch 6 after node 2, by the votes of nodes 1 and 3: " in e for e in elected)
    if len(captures) > 1:
        gone = by_kind["truncation"].detail
        assert gone == "truncated 22 records from offset 1526 on, as a later capture of it shows"


def test_a_migration_from_zookeeper_is_told_by_kafka_s_names(node: Path) -> None:
    for state in (2, 1, 3):
        record(node, "ZK_MIGRATION_STATE_RECORD", zkMigrationState=state)
    told = [one.detail for one in events(node, "zk_migration_state_changed")]
    assert told == [
        "none -> PRE_MIGRATION",
        "PRE_MIGRATION -> MIGRATION",
        "MIGRATION -> POST_MIGRATION",
    ]


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_broker_that_is_fenced_says_which_partitions_lost_their_leader(
    node: Path, is_asked: bool
) -> None:
    """The controller writes both with one time. In a shutdown in order, leaders go before it."""
    for number in range(5):
        partition(node, number, directory_of(21))
    if is_asked:
        broker_changes(node, 1000, brokerEpoch=5000, inControlledShutdown=1)
        for number in range(2):
            change(node, number, leader=-1)
        broker_changes(node, 500, brokerEpoch=5000, fenced=1)
    else:
        broker_changes(node, 9000, brokerEpoch=5000, fenced=1)
        for number in range(5):
            change(node, number, leader=-1)
    (told,) = [one.detail for one in events(node, "broker_fenced") if one.name == "broker 21"]
    left, how = told.split("; ", 1)
    if is_asked:
        assert left == "left 2 partitions without leader (moved-0 and moved-1)"
        assert how == "had asked for its shutdown 0.5 s before"
        (stop,) = events(node, "broker_shutdown_started")[-1:]
        assert stop.detail == left
    else:
        assert left == "left 5 partitions without leader (moved-0, moved-1, moved-2 and 2 more)"
        assert how.startswith("was last seen alive in the log ")


def test_a_lost_directory_says_which_partitions_lost_their_leader(node: Path) -> None:
    partition(node, 0, OTHER)
    value = {"brokerId": 21, "brokerEpoch": 5000, "logDirs": (directory_of(21),)}
    data = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 3, value)
    append(segment(node, 2722), data, later_ms=1000)
    change(node, 0, leader=-1)
    (told,) = events(node, "broker_directories_changed")
    assert told.detail == f"lost directory {OTHER}; left 1 partition without leader (moved-0)"


def test_a_broker_that_registers_with_another_directory_says_so_and_decides(node: Path) -> None:
    new = directory_of(77)
    registers(node, directory_of(21), new, epoch=5001)
    told = events(node, "broker_registered")
    assert f", without directory {OTHER}, with new directory {new}, broker" in told[-1].detail
    assert has_other_directories(told[-1])
    unfenced = told[-1]._replace(event="broker_unfenced", detail="")
    assert told[-1] in decisive([*told, unfenced])
    registers(node, directory_of(21), new, epoch=5002)
    again = events(node, "broker_registered")[-1]
    assert not has_other_directories(again)
