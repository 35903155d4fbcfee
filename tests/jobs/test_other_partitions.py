"""Partitions that are no metadata log: of another topic that a quorum replicates (kraftlake.topic
.name, Kafka's TestRaftServer), and of ordinary topics, as brokers keep them."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.consumer.quorum import in_thread
from tests.replica.doctor.check.editing import append

VALUES = (b"first", b"second", b"\x01third", *(b"order %d" % number for number in range(40)))
TOPICS = Path(__file__).parents[1] / "golden/format/kafka-4.4.0-topics.tar.gz"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three voters' log directories of the topic orders, by node id."""
    folder = tmp_path_factory.mktemp("quorum")
    with in_thread(folder, VALUES, voters=3, topic="orders"):
        pass
    return folder


def rules_in(ended: Ended) -> list[str]:
    """What was found, but that a voter had just begun an election when the quorum was stopped."""
    return [row["rule"] for row in ended.findings if row["rule"] != "quorum-state-ahead"]


@pytest.fixture
def orders(written: Path, tmp_path: Path) -> Path:
    """Copies that may be damaged: orders/1/orders-0, ..."""
    for node in ("1", "2", "3"):
        shutil.copytree(written / node / "log", tmp_path / "orders" / node)
    return tmp_path / "orders"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """A real broker's log directory with ordinary topics' partitions."""
    with tarfile.open(TOPICS) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "topics"


def test_check_says_once_of_each_partition_that_it_is_no_metadata_log(
    kraftlake: Kraftlake, orders: Path
) -> None:
    ended = kraftlake("check", orders)
    assert ended.code == 0, ended.out
    rows = [line.split() for line in ended.lines if line.endswith("/orders-0")]
    assert [(row[:4], row[-4:]) for row in rows] == [
        ([node, "voter", "0", "to"], ["no", "fault", "found", f"{orders}/{node}/orders-0"])
        for node in "123"
    ]
    told = "partition orders-0 is no metadata log: its records were not decoded"
    assert kraftlake("check", "-v", orders).out.count(told) == 3
    assert rules_in(kraftlake("check", "--json", orders)) == ["no-metadata-log"] * 3


def test_rules_that_hold_for_every_partition_are_judged_without_a_metadata_log(
    kraftlake: Kraftlake, orders: Path
) -> None:
    log = next((orders / "1").glob("orders-0/*.log"))
    raw = bytearray(log.read_bytes())
    raw[-1] ^= 1
    log.write_bytes(raw)
    checkpoint = orders / "2/orders-0/leader-epoch-checkpoint"
    checkpoint.write_text("0\n1\n7 0\n")
    (orders / "3/orders-0/quorum-state").unlink()
    # a folder above finds no partition without a quorum-state: what broker has it is nobody's guess
    nodes = (orders / "1", orders / "2", orders / "3/orders-0")
    ended = kraftlake("check", "--json", "--severity", "warning", *nodes)
    assert ended.code == 1
    found = {(row["file"].split("/")[-3], row["rule"]) for row in ended.findings}
    assert found == {
        ("1", "crc-mismatch"),
        ("2", "epoch-checkpoint-mismatch"),
        ("orders", "quorum-state-missing"),
    }


def test_a_metadata_log_and_another_partition_of_one_node_are_not_compared(
    kraftlake: Kraftlake, orders: Path, data: Path
) -> None:
    """As in a directory that two processes, or an operator, put together."""
    node = data / "kafka-3.7.2-static/final/1"
    shutil.copytree(node / "__cluster_metadata-0", orders / "1/__cluster_metadata-0")
    ended = kraftlake("check", "--json", orders / "1")
    assert (ended.code, rules_in(ended)) == (0, ["no-metadata-log"]), ended.out + ended.err
    assert [told["partition"] for told in ended.summary["directories"]] == [
        "__cluster_metadata-0",
        "orders-0",
    ]


def test_a_segment_of_another_partition_is_named_once(kraftlake: Kraftlake, orders: Path) -> None:
    log = next((orders / "1").glob("orders-0/*.log"))
    ended = kraftlake("check", "--json", log)
    assert (ended.code, rules_in(ended)) == (0, ["no-metadata-log"])
    moved = shutil.copy(log, orders / "00000000000000000000.log")
    ended = kraftlake("check", "--json", moved)
    assert (ended.code, rules_in(ended)) == (0, ["no-metadata-log"])


def test_an_older_directory_with_the_metadata_topics_id_is_known_by_its_records(
    kraftlake: Kraftlake, orders: Path
) -> None:
    """Releases before wrote that id into each partition.metadata."""
    for path in orders.glob("*/orders-0/partition.metadata"):
        path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert rules_in(kraftlake("check", "--json", orders)) == ["no-metadata-log"] * 3


@pytest.mark.parametrize("name", ["copy-of-node-1", "incident-7"])
def test_a_metadata_log_is_one_whatever_its_folder_is_called(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, name: str
) -> None:
    source = data / "kafka-4.1.1-dynamic/final/11/__cluster_metadata-0"
    for with_id in (True, False):
        copy = Path(shutil.copytree(source, tmp_path / str(with_id) / name))
        if not with_id:
            (copy / "partition.metadata").unlink()
        ended = kraftlake("check", "--json", copy)
        assert "no-metadata-log" not in {row["rule"] for row in ended.findings}
        assert ended.summary["directories"][0]["snapshots"] == {"valid": 1}


@pytest.mark.parametrize("name", ["orders-0", "compacted-0"])
def test_an_ordinary_topics_partition_is_named_as_such_and_its_bytes_are_checked(
    kraftlake: Kraftlake, topics: Path, name: str
) -> None:
    partition = topics / name
    ended = kraftlake("check", partition)
    assert ended.code == 1
    assert f"partition {name} is of an ordinary topic" in ended.out
    assert rules_in(kraftlake("check", "--json", partition)) == ["ordinary-topic"]
    log = max(partition.glob("*.log"))
    raw = bytearray(log.read_bytes())
    raw[-1] ^= 1
    log.write_bytes(raw)
    rules = rules_in(kraftlake("check", "--json", partition))
    assert rules == ["crc-mismatch", "ordinary-topic"]


def test_dump_prints_what_producers_wrote_and_says_once_what_it_is(
    kraftlake: Kraftlake, orders: Path
) -> None:
    ended = kraftlake("dump", "--json", "--logs-only", orders / "1")
    assert ended.code == 0
    folder = orders / "1/orders-0"
    said = f"{folder}: partition orders-0 is no metadata log: its records are printed as they are"
    assert ended.complaints == [said]
    opaque = [row for row in ended.rows if "type" not in row]
    assert [row["value"] for row in opaque] == [value.decode() for value in VALUES]
    assert list(opaque[0]) == ["file", "offset", "epoch", "timestamp", "key", "value", "headers"]
    assert {row["type"] for row in ended.rows if "type" in row} >= {"LEADER_CHANGE"}
    text = kraftlake("dump", "--logs-only", orders / "1")
    assert text.code == 0
    assert text.lines[-1].endswith("  null  order 39")


def test_dump_of_an_ordinary_topic_and_of_types(kraftlake: Kraftlake, topics: Path) -> None:
    ended = kraftlake("dump", "--json", topics / "orders-0")
    assert ended.code == 0
    assert len(ended.complaints) == 1
    assert "order 2 49 " in ended.rows[-2]["value"]
    assert ended.rows[-2]["key"] == "49"
    assert kraftlake("dump", "--json", topics / "compacted-0").code == 0
    chosen = kraftlake("dump", "--json", "--type", "topic", topics / "orders-0")
    assert (chosen.code, chosen.rows) == (0, [])


def test_a_segment_of_an_unknown_partition_is_not_printed_unredacted(
    kraftlake: Kraftlake, orders: Path
) -> None:
    """It may as well be a metadata log's that nobody can read, with secrets in it."""
    log = next((orders / "1").glob("orders-0/*.log"))
    moved = shutil.copy(log, orders / "00000000000000000000.log")
    ended = kraftlake("dump", "--json", moved)
    assert ended.code == 0
    (said,) = ended.complaints
    assert said == (
        f"{moved}: this partition is no metadata log: its records are hidden, --keep-secrets "
        "shows them"
    )
    assert "order 39" not in ended.out
    assert "order 39" in kraftlake("dump", "--keep-secrets", moved).out


def test_diff_shows_records_as_they_are_and_compares_only_one_partition(
    kraftlake: Kraftlake, orders: Path, topics: Path, data: Path
) -> None:
    ended = kraftlake("diff", orders / "1", orders / "2")
    assert ended.code == 0, ended.out + ended.err
    metadata = data / "kafka-4.1.1-dynamic/final/1"
    ended = kraftlake("diff", orders / "1", metadata)
    assert ended.code == 2
    assert ended.error == (
        f"{orders}/1/orders-0 is partition orders-0, {metadata}/__cluster_metadata-0 partition "
        "__cluster_metadata-0: diff compares replicas of one partition"
    )
    ended = kraftlake("diff", topics / "orders-0", orders / "1")
    assert ended.code == 2
    assert "partition orders-0 is of an ordinary topic" in ended.error


def test_diff_prints_the_branches_of_another_partition_as_they_are(
    kraftlake: Kraftlake, orders: Path
) -> None:
    for node, value, epoch in (("1", b"left", 90), ("2", b"right", 91)):
        append(next((orders / node).glob("orders-0/*.log")), value, epoch=epoch)
    ended = kraftlake("diff", orders / "1", orders / "2")
    assert ended.code == 1
    assert any(" epoch 90 " in line and line.endswith("  null  left") for line in ended.lines)
    assert any(" epoch 91 " in line and line.endswith("  null  right") for line in ended.lines)
    assert "could not be decoded" not in ended.out


def test_recover_plans_for_other_partitions_and_leaves_ordinary_ones_out(
    kraftlake: Kraftlake, orders: Path, topics: Path
) -> None:
    ended = kraftlake("recover", "--plan", orders, topics / "orders-0")
    assert ended.code == 0, ended.out
    assert ended.complaints[0] == (
        f"{topics}/orders-0: left out: partition orders-0 is of an ordinary topic, which no quorum "
        "keeps"
    )
    assert "the directories of 3 of 3 voters are here" in ended.out


@pytest.mark.parametrize("name", ["orders", "topics"])
def test_ingest_refuses_what_no_table_could_hold(
    kraftlake: Kraftlake, orders: Path, topics: Path, tmp_path: Path, name: str
) -> None:
    place = {"orders": orders / "1", "topics": topics / "orders-0"}[name]
    ended = kraftlake("ingest", "--lake", tmp_path / "lake", place)
    assert ended.code == 2
    partition = place if name == "topics" else place / "orders-0"
    assert ended.error.startswith(f"{partition}: partition orders-0 is ")
    assert ended.error.endswith(
        "; a lake holds metadata logs alone: name a node's __cluster_metadata-0 (`kraftlake "
        "check`, `dump` and `diff` read this one)"
    )
    assert not (tmp_path / "lake/bronze").exists()


def test_consume_and_dump_give_the_same_fields(kraftlake: Kraftlake, orders: Path) -> None:
    row = json.loads(kraftlake("dump", "--json", orders / "1").lines[-1])
    assert set(row) - {"file"} <= {"offset", "epoch", "timestamp", "key", "value", "headers"} | {
        "type",
        "version",
        "data",
    }
