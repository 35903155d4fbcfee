"""Health of the recorded clusters by their directories, and of copies with further records."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.check.rule import Finding
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.judging import judge_health
from replica.doctor.health.of_directories import cluster_of
from replica.format.discovery import discover
from replica.format.segment import scan
from replica.severity import Severity
from tests.replica.doctor.check.editing import append, flip, metadata
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

DATA = Path(__file__).parents[3] / "data"
HEALTHY = [
    "kafka-3.7.2-static/live",
    "kafka-3.7.2-static/final",
    "kafka-4.1.1-dynamic/live",
    "kafka-4.4.0-dynamic/live",
    "kafka-4.4.0-dynamic/final",
]
NODE = "kafka-4.4.0-dynamic/final/1"


def the_cluster(*folders: Path) -> Cluster:
    """The one cluster of these folders."""
    group = [examine(found) for found in discover([str(folder) for folder in folders])]
    (told,) = judge_group(group, newest=True).states
    cluster = cluster_of(told, {})
    assert cluster is not None
    return cluster


def worse_than_notes(cluster: Cluster) -> dict[str, Finding]:
    found = judge_health(cluster)
    return {one.rule.id: one for one in found if one.severity is not Severity.INFO}


@pytest.mark.parametrize("capture", HEALTHY)
def test_a_healthy_recorded_cluster_has_no_finding_above_a_note(capture: str) -> None:
    """In the log of 4.4.0 broker 11 was killed, and came back to lead what only it holds."""
    cluster = the_cluster(DATA / capture)
    assert cluster.is_whole
    assert len(cluster.partitions) > 400
    found = judge_health(cluster)
    killed = capture == "kafka-4.4.0-dynamic/final"
    assert [one.rule.id for one in found] == (["unclean-only-replica"] if killed else [])


def test_partitions_of_a_broker_that_stopped_uncleanly_have_no_leader_until_it_is_back() -> None:
    """The log of 4.1.1 ends after broker 11 registered again, and before it was unfenced. Its
    unclean stop took it out of the eligible leader replicas."""
    cluster = the_cluster(DATA / "kafka-4.1.1-dynamic/final")
    found = worse_than_notes(cluster)
    assert sorted(found) == ["no-eligible-leader", "replica-on-fenced-broker"]
    assert found["no-eligible-leader"].message == "933 of 1105 partitions"
    (broker,) = found["replica-on-fenced-broker"].subjects
    assert broker == ("broker 11", "fenced, 933 replicas", 3655)


def test_of_equal_logs_that_of_the_lowest_node_is_replayed(tmp_path: Path) -> None:
    for node, name in (("11", "a"), ("12", "b"), ("3", "c")):
        shutil.copytree(DATA / "kafka-4.1.1-dynamic/final" / node, tmp_path / name)
    assert "/c/" in the_cluster(tmp_path).file


def test_of_two_branches_the_one_is_judged_that_wins_an_election() -> None:
    cluster = the_cluster(DATA / "kafka-4.1.1-dynamic/split")
    assert cluster.end_offset == 2712
    assert "/split/1/" in cluster.file
    assert sorted(worse_than_notes(cluster)) == [
        "partition-without-leader",
        "replica-on-fenced-broker",
    ]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A copy of a recorded node that may be changed."""
    return Path(shutil.copytree(DATA / NODE, tmp_path / "node"))


def newest_log(node: Path) -> Path:
    return max((node / "__cluster_metadata-0").glob("*.log"))


def test_a_reassignment_is_told_with_the_record_that_began_it(node: Path) -> None:
    cluster = the_cluster(node)
    key = next(iter(cluster.partitions))
    fields = {"topicId": key[0], "partitionId": key[1]}
    append(newest_log(node), metadata("PARTITION_CHANGE_RECORD", **fields, addingReplicas=(12,)))
    append(newest_log(node), metadata("PARTITION_CHANGE_RECORD", **fields, isr=(11,)))
    first = cluster.end_offset
    after = the_cluster(node)
    assert list(after.starts) == [key]
    assert after.starts[key].offset == first
    found = {one.rule.id: one for one in judge_health(after)}
    assert found["reassignment-running"].subjects[0].offset == first


@pytest.mark.parametrize("reader", [only_the_scalar_reader, only_the_bulk_reader])
def test_behind_an_unknown_record_health_is_that_of_the_state_before(
    node: Path, monkeypatch: pytest.MonkeyPatch, reader: Callable[[pytest.MonkeyPatch], None]
) -> None:
    pytest.importorskip("numba")
    reader(monkeypatch)
    before = the_cluster(node)
    append(newest_log(node), b"\x01\x78\x00what-is-this")
    append(newest_log(node), metadata("TOPIC_RECORD", name="late", topicId="A" * 22))
    after = the_cluster(node)
    assert not after.is_whole
    assert after.end_offset == before.end_offset
    assert "state-not-whole" in worse_than_notes(after)
    assert "late" not in after.values("topics").values()


def test_a_node_whose_log_can_be_read_is_preferred_to_a_damaged_one(
    node: Path, tmp_path: Path
) -> None:
    log = newest_log(node)
    flip(log, scan(log.read_bytes()).batches[-3].position + 70)
    assert not the_cluster(node).is_whole
    other = shutil.copytree(DATA / "kafka-4.4.0-dynamic/final/3", tmp_path / "other")
    cluster = the_cluster(node, other)
    assert cluster.is_whole
    assert "/other/" in cluster.file


def test_a_node_with_only_a_snapshot_has_the_snapshot_s_state(node: Path) -> None:
    for path in (node / "__cluster_metadata-0").glob("*.log"):
        path.unlink()
    snapshot = max((node / "__cluster_metadata-0").glob("*.checkpoint"))
    cluster = the_cluster(node)
    assert cluster.end_offset == int(snapshot.name.split("-")[0])
    assert len(cluster.partitions) > 400


def test_with_a_hole_behind_the_snapshot_the_state_is_the_snapshot_s(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))
    for path in (node / "__cluster_metadata-0").iterdir():
        kept = path.suffix == ".log" and path == newest_log(node)
        kept |= path.name == "00000000000000002571-0000000006.checkpoint"
        if path.suffix in (".log", ".checkpoint") and not kept:
            path.unlink()
    cluster = the_cluster(node)
    assert (cluster.end_offset, cluster.is_whole) == (2571, False)
    assert "state-not-whole" in worse_than_notes(cluster)


def test_a_directory_without_log_and_snapshot_has_no_state(node: Path) -> None:
    for path in (node / "__cluster_metadata-0").iterdir():
        if path.suffix in (".log", ".checkpoint"):
            path.unlink()
    group = [examine(found) for found in discover([str(node)])]
    assert judge_group(group, newest=True).states == ()
