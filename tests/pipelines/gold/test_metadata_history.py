"""History and changes of both recorded clusters: beside the replay of the files, beside Kafka's own
snapshots, and the records that only the losing nodes held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.lake.redaction import FILE_NAME
from replica.metadata.changes.catalogue import CHANGES
from replica.metadata.image.image import EMPTY, Image, orphan_topic_configs
from replica.metadata.image.replay import Replay
from replica.metadata.redact import Redactor
from tests.examples import examples
from tests.replica.metadata.image.recorded import Logged, records_in

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
FOLDERS = {DYNAMIC: "kafka-4.1.1-dynamic", STATIC: "kafka-3.7.2-static"}
GHOSTS = {DYNAMIC: 1526, STATIC: 750}
"""Where nodes 2 and 11 part from the others; their 22 records create ghost-... topics."""

Row = dict[str, Any]
State = dict[tuple[str, str], tuple[str, int | None]]


@pytest.fixture(scope="module")
def history(built_lake: Path) -> dict[str, list[Row]]:
    return _by_cluster(built_lake / "gold/metadata_history")


@pytest.fixture(scope="module")
def changes(built_lake: Path) -> dict[str, list[Row]]:
    return _by_cluster(built_lake / "gold/metadata_changes")


@pytest.fixture(scope="module")
def logs(built_lake: Path, data: Path) -> dict[str, list[Logged]]:
    """Node 1's log of each cluster from offset 0, redacted as the lake is."""
    redactor = Redactor((built_lake / FILE_NAME).read_bytes())
    return {
        cluster: [
            logged
            for segment in sorted((data / folder / "final/1").glob("__cluster_metadata-0/*.log"))
            for logged in records_in(segment, redactor)
        ]
        for cluster, folder in FOLDERS.items()
    }


def _by_cluster(table: Path) -> dict[str, list[Row]]:
    rows = DeltaTable(table).to_pyarrow_table().to_pylist()
    return {name: [row for row in rows if row["cluster_id"] == name] for name in FOLDERS}


def _state(rows: list[Row], end_offset: int) -> State:
    valid = [
        row
        for row in rows
        if row["valid_from_offset"] < end_offset
        and (row["valid_to_offset"] is None or end_offset <= row["valid_to_offset"])
    ]
    found = {(row["entity"], row["key"]): (row["value"], row["record_offset"]) for row in valid}
    assert len(found) == len(valid)
    return found


def _replayed(log: list[Logged], end_offset: int) -> Image:
    replay = Replay(EMPTY)
    for logged in log:
        if logged.offset < end_offset:
            replay.apply(logged.offset, logged.record)
    return replay.image()


@pytest.mark.parametrize("cluster", FOLDERS)
def test_history_at_any_offset_is_the_replay_up_to_there(
    history: dict[str, list[Row]], logs: dict[str, list[Logged]], cluster: str
) -> None:
    log = logs[cluster]

    @settings(max_examples=examples(25))
    @given(st.integers(0, log[-1].offset + 1))
    def holds(end_offset: int) -> None:
        image = _replayed(log, end_offset)
        expected = {(e.kind, e.key): (e.value, e.offset) for e in image.entities()}
        assert _state(history[cluster], end_offset) == expected

    holds()


@pytest.mark.parametrize("cluster", FOLDERS)
def test_history_is_what_kafkas_own_snapshots_hold(
    history: dict[str, list[Row]], built_lake: Path, data: Path, cluster: str
) -> None:
    redactor = Redactor((built_lake / FILE_NAME).read_bytes())
    files = {f.name: f for f in (data / FOLDERS[cluster]).glob("*/*/*/*.checkpoint")}
    compared = 0
    for name, file in files.items():
        end_offset = int(name[:20])
        if end_offset == 0:
            continue  # the bootstrap's
        replay = Replay()
        for logged in records_in(file, redactor):
            replay.apply(logged.offset, logged.record)
        image = replay.image()
        orphans = orphan_topic_configs(image, _image_at(history[cluster], end_offset))
        left = {(orphan.kind, orphan.key) for orphan in orphans}
        held = {(e.kind, e.key): e.value for e in image.entities() if (e.kind, e.key) not in left}
        state = _state(history[cluster], end_offset)
        assert held == {key: value for key, (value, _) in state.items()}, name
        compared += 1
    assert compared >= 3


def _image_at(rows: list[Row], end_offset: int) -> Image:
    """Enough of it to know which topics and configs there are."""
    from replica.metadata.image.state import State as Tables

    tables = Tables()
    for (entity, key), (value, _) in _state(rows, end_offset).items():
        if entity == "topic":
            tables.topics.put(key, json.loads(value)["name"], 0)
        elif entity == "config":
            tables.configs.put(tuple(json.loads(key)), json.loads(value)["value"], 0)
    return Image(tables.tables())


@pytest.mark.parametrize("cluster", FOLDERS)
def test_records_of_the_losing_branch_are_in_no_state_and_superseded_changes(
    history: dict[str, list[Row]], changes: dict[str, list[Row]], cluster: str
) -> None:
    fork = GHOSTS[cluster]
    assert not [row for row in history[cluster] if "ghost" in row["name"] + row["value"]]
    lost = [row for row in changes[cluster] if row["commitment"] == "superseded"]
    assert sorted({row["change"] for row in lost}) == ["partition_created", "topic_created"]
    assert all(row["name"].startswith("ghost-") for row in lost)
    assert len(lost) == 20  # of 22 records two are NO_OPs
    assert {row["offset"] for row in lost} == set(range(fork, fork + 20))
    others = [row for row in changes[cluster] if row["commitment"] != "superseded"]
    assert not [row for row in others if "ghost" in row["name"]]


@pytest.mark.parametrize("cluster", FOLDERS)
def test_each_version_of_an_entity_is_told_by_changes_and_the_other_way_round(
    history: dict[str, list[Row]], changes: dict[str, list[Row]], cluster: str
) -> None:
    agreed = [row for row in changes[cluster] if row["commitment"] != "superseded"]
    assert {row["change"] for row in agreed} <= {one.name for one in CHANGES}
    told = {(row["entity"], row["key"], row["offset"]) for row in agreed}
    written = {(row["entity"], row["key"], row["record_offset"]) for row in history[cluster]}
    removed = {(row["entity"], row["key"], row["valid_to_offset"]) for row in history[cluster]} - {
        (entity, key, None) for entity, key, _ in written
    }
    assert told <= written | removed
    keys = [(row["offset"], row["leader_epoch"], row["entity"], row["key"], row["change"])
            for row in changes[cluster]]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_metadata_version_is_told_by_its_release(changes: dict[str, list[Row]]) -> None:
    found = {
        cluster: [row["new"] for row in rows if row["change"] == "metadata_version_changed"]
        for cluster, rows in changes.items()
    }
    assert found == {DYNAMIC: ['"4.1-IV1"'], STATIC: ['"3.7-IV4"']}
