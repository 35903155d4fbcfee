"""What a release of Kafka can't read of a directory: by record type and version, by level, and by
whether a node that starts reads it at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.readable import judged_for, unread_by
from replica.format.discovery import discover
from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.releases import NEWEST_LEVELS
from replica.metadata.changes.unread import UnreadPlace
from tests.replica.doctor.check.editing import (
    append,
    batches,
    judged,
    metadata,
    segment,
    set_value,
    snapshot,
)
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

DATA = Path(__file__).parents[3] / "data"
END = 3674
TYPE_501 = b"\x01\xf5\x03\x00\x2a"
TYPE_29 = metadata("UNREGISTER_CONTROLLER_RECORD", controllerId=9)


def level(feature: str, number: int) -> bytes:
    return metadata("FEATURE_LEVEL_RECORD", name=feature, featureLevel=number)


@pytest.fixture(params=["bulk", "scalar"])
def node(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Node 3 of 4.1.1, its newest snapshot at 2571."""
    is_bulk = request.param == "bulk"
    (only_the_bulk_reader if is_bulk else only_the_scalar_reader)(monkeypatch)
    return Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))


def looked_at(node: Path) -> Examined:
    return examine(next(iter(discover([str(node)]))))


def places(node: Path, release: str) -> dict[str, UnreadPlace]:
    found = unread_by(reader_of(release), looked_at(node))
    by_subject = {one.unread.subject: one for one in found}
    assert len(by_subject) == len(found)
    return by_subject


@pytest.mark.parametrize(
    ("name", "oldest"),
    [("3.7.2-static", "3.7"), ("4.1.1-dynamic", "4.1"), ("4.4.0-dynamic", "4.4")],
)
def test_a_recorded_log_is_read_by_its_release_and_newer_ones_and_by_no_older(
    name: str, oldest: str
) -> None:
    for path in sorted((DATA / f"kafka-{name}").glob("final/[0-9]*")):
        examined = looked_at(path)
        for release in NEWEST_LEVELS:
            stops = any(one.stops for one in unread_by(reader_of(release), examined))
            is_older = [*NEWEST_LEVELS].index(release) < [*NEWEST_LEVELS].index(oldest)
            assert stops == is_older, (path, release)


def test_each_level_type_and_file_that_3_7_does_not_know_is_named(node: Path) -> None:
    found = places(node, "3.7")
    assert all(one.stops for one in found.values())
    assert found.keys() == {
        "quorum-state", "kraft.version", "KRAFT_VOTERS", "metadata.version", "group.version",
        "transaction.version", "eligible.leader.replicas.version", "bootstrap.checkpoint",
    }  # fmt: skip
    assert found["quorum-state"].file.endswith("quorum-state")
    assert "3.8" not in found["kraft.version"].unread.why
    assert "doesn't know this feature" in places(node, "3.8")["kraft.version"].unread.why


def test_a_level_that_was_lowered_again_stops_a_node_which_replays_it(node: Path) -> None:
    """Kafka 4.1.2: "Tried to apply FeatureLevelRecord ... only supports versions 7-27"."""
    raised = level("metadata.version", 29), level("share.version", 2)
    append(segment(node, 2722), *raised, level("metadata.version", 27), level("share.version", 1))
    found = places(node, "4.1")
    assert {name: (one.offset, one.count, one.stops) for name, one in found.items()} == {
        "metadata.version": (END, 1, True),
        "share.version": (END + 1, 1, True),
    }
    assert found["metadata.version"].unread.why == "4.2-IV1; Kafka 4.1 knows levels up to 4.1-IV1"
    assert places(node, "4.2").keys() == {"share.version"}


def test_what_the_newest_snapshot_covers_stops_no_node(node: Path) -> None:
    append(segment(node, 2722), level("metadata.version", 29), level("metadata.version", 27))
    shutil.copy(snapshot(node, 2571, 6), snapshot(node, END + 2, 6))
    (found,) = places(node, "4.1").values()
    assert (found.offset, found.at_start, found.stops) == (END, False, False)
    (member,) = judged(node).members
    findings = judged_for(reader_of("4.1"), member).findings
    told = [one for one in findings if "release" in one.rule.id]
    assert [(one.rule.id, one.offset) for one in told] == [("partly-read-by-release", END)]
    assert "only a node with an empty disk reads it" in told[0].message


def test_unknown_types_are_counted_from_the_first_one_on(node: Path) -> None:
    append(segment(node, 2722), TYPE_29, TYPE_501, TYPE_29)
    found = places(node, "4.3")
    known = found["UNREGISTER_CONTROLLER_RECORD"]
    assert (known.offset, known.count, known.stops) == (END, 2, True)
    assert (found["type 501"].offset, found["type 501"].stops) == (END + 1, True)
    assert places(node, "4.4").keys() == {"type 501"}


def test_tagged_fields_of_a_newer_version_are_left_out_and_stop_nothing() -> None:
    """Seen with Kafka 4.1.2's generated classes, which check no version of a whole record."""
    found = places(DATA / "kafka-4.4.0-dynamic/final/2", "4.2")
    broker = found["REGISTER_BROKER_RECORD"]
    assert (broker.stops, broker.unread.is_fatal) == (False, False)
    assert (
        broker.unread.why
        == "version 4; Kafka 4.2 reads version 3, without the field cordonedLogDirs"
    )


def test_a_cluster_below_3_3_iv3_is_read_by_no_kafka_4(node: Path) -> None:
    append(segment(node, 2722), level("metadata.version", 6))
    assert "knows levels from 3.3-IV3" in places(node, "4.1")["metadata.version"].unread.why


@pytest.mark.parametrize(("release", "stops"), [("3.7", True), ("3.8", False), ("4.1", False)])
def test_bootstrap_checkpoint_stops_releases_that_look_its_level_up(
    tmp_path: Path, release: str, stops: bool
) -> None:
    """Kafka 3.7.2, on a log whose level was lowered from 3.9 to 3.7 behind a snapshot: "No
    MetadataVersion with metadata version 21". Kafka 4.1.2 starts beside such a file."""
    node = Path(shutil.copytree(DATA / "kafka-3.7.2-static/final/1", tmp_path / "node"))
    path = node / "bootstrap.checkpoint"
    (batch,) = (one for one in batches(path) if not one.header.is_control)
    set_value(path, batch, lambda _: level("metadata.version", 21))
    found = places(node, release)
    assert ("bootstrap.checkpoint" in found) == stops
    if stops:
        assert found["bootstrap.checkpoint"].unread.why.startswith("metadata.version, 3.9-IV0; ")
