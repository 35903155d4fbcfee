"""The ready-made views of metadata history, in both engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.cli.asking.sql_views import VIEWS, View
from replica.metadata.image.replay import Replay
from tests.jobs.conftest import Kraftlake
from tests.pipelines.report.small_lake import write_lake
from tests.replica.metadata.image.recorded import records_in

DYNAMIC = "Lr3UIdBxT-GFPYE5uprmrg"


def _rows(kraftlake: Kraftlake, lake: Path, query: str, *options: str) -> list[dict[str, Any]]:
    ended = kraftlake("sql", "--lake", lake, "--json", *options, query)
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Odd texts, as replica.metadata.image writes them."""
    lake = tmp_path_factory.mktemp("lake")
    fields = {
        "resourceType": 2,
        "resourceName": "orders",
        "name": "a.b",
        "value": 'a"b\\c,"name":"x"',
    }
    acl = {
        **{"host": '","principal":"User:eve', "id": "A", "operation": 99, "patternType": 4},
        **{"permissionType": 2, "principal": 'User:CN=\u00fc, O=\\"x\\"', "resourceName": "o"},
        "resourceType": 2,
    }
    values = {"config": fields, "acl": acl, "partition": _partition([], [])}
    rows = [
        {
            **{"cluster_id": "c", "entity": entity, "key": "k:3", "name": "a-b-3"},
            "value": json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False),
            **{"valid_from_offset": 4, "valid_to_offset": None, "record_offset": 4},
            **{"valid_from": None, "valid_to": None},
        }
        for entity, value in values.items()
    ]
    time = pa.timestamp("us", "UTC")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("cluster_id", "entity", "key", "name", "value")),
            *((f"{name}_offset", pa.int64()) for name in ("valid_from", "valid_to", "record")),
            *((name, time) for name in ("valid_from", "valid_to")),
        ]
    )
    write_deltalake(lake / "gold/metadata_history", pa.Table.from_pylist(rows, schema=schema))
    log = {
        "silver.committed_log": [{"cluster_id": "c", "offset": offset} for offset in range(5)],
        "gold.state_ranges": [{"cluster_id": "c", "from_offset": 0, "to_offset": 5}],
    }
    return write_lake(lake, log, leave_out=["gold.metadata_history"])


def _partition(replicas: list[int], isr: list[int]) -> dict[str, Any]:
    return {"isr": isr, "leader": -1, "leaderEpoch": 0, "replicas": replicas, "topicId": "k"}


def test_texts_with_quotes_come_out_as_they_are(kraftlake: Kraftlake, written: Path) -> None:
    (config,) = _rows(kraftlake, written, "select name, value from gold.config_at")
    assert config == {"name": "a.b", "value": 'a"b\\c,"name":"x"'}
    (acl,) = _rows(
        kraftlake, written, "select principal, host, operation, pattern_type from gold.acl_at"
    )
    assert acl == {
        "principal": 'User:CN=\u00fc, O=\\"x\\"',
        "host": '","principal":"User:eve',
        "operation": "99",
        "pattern_type": "PREFIXED",
    }


def test_a_partition_without_replicas_has_empty_lists(kraftlake: Kraftlake, written: Path) -> None:
    query = "select topic, partition_id, leader, replicas, isr from gold.partition_leaders_at"
    expected = {"topic": "a-b", "partition_id": 3, "leader": -1, "replicas": [], "isr": []}
    assert _rows(kraftlake, written, query) == [expected]
    assert _rows(kraftlake, written, query, "--at-offset", "4") == []
    assert _rows(kraftlake, written, query, "--at-offset", "5") == [expected]
    assert _rows(kraftlake, written, "select * from gold.under_replicated_at") == []


def test_a_moment_without_a_view_and_a_view_without_its_table_are_errors(
    kraftlake: Kraftlake, written: Path, tmp_path: Path
) -> None:
    ended = kraftlake("sql", "--lake", written, "--at-offset", "1", "select 1")
    assert (ended.code, "for the views" in ended.err) == (2, True)
    write_deltalake(tmp_path / "gold/elections", pa.table({"epoch": [1]}))
    ended = kraftlake("sql", "--lake", tmp_path, "select * from gold.topics_at")
    assert ended.code != 0
    assert "gold.metadata_history" in ended.err


def test_the_views_are_listed_beside_the_tables(kraftlake: Kraftlake, written: Path) -> None:
    listed = kraftlake("sql", "--lake", written, "--tables").out
    for view in VIEWS:
        assert f"{view.name}: View. {view.description}" in listed


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_show_the_same_at_an_offset_and_at_a_time(
    kraftlake: Kraftlake, built_lake: Path
) -> None:
    moments: tuple[tuple[tuple[str, ...], Sequence[View]], ...] = (
        (("--at-offset", "1600"), VIEWS),
        (("--at-time", "2026-11-21T03:19:40Z"), VIEWS[:1]),
        ((), VIEWS[-1:]),
    )
    for moment, views in moments:
        for view in views:
            query = f"select * from {view.name} where cluster_id = '{DYNAMIC}'"
            found = [
                sorted(map(str, _rows(kraftlake, built_lake, query, "--engine", engine, *moment)))
                for engine in ("delta-rs", "spark")
            ]
            assert found[0] == found[1], (view.name, moment)
            assert found[0] or view.name == "gold.under_replicated_at"
        columns = [name for name, _, _ in view.columns]
        assert list(_rows(kraftlake, built_lake, query, *moment)[0]) == columns


@pytest.mark.spark
def test_a_view_says_what_the_replay_of_the_log_says(
    kraftlake: Kraftlake, built_lake: Path, data: Path
) -> None:
    segments = sorted((data / "kafka-4.1.1-dynamic/final/1").glob("__cluster_metadata-0/*.log"))
    replay = Replay()
    for logged in (one for segment in segments for one in records_in(segment)):
        if logged.offset < 1600:
            replay.apply(logged.offset, logged.record)
    tables = replay.image().tables
    query = f"select * from gold.{{}} where cluster_id = '{DYNAMIC}'"
    at = "--at-offset", "1600"
    leaders = _rows(kraftlake, built_lake, query.format("partition_leaders_at"), *at)
    names = tables["topics"].values
    assert {(r["topic"], r["partition_id"], r["leader"], *r["isr"]) for r in leaders} == {
        (names[topic_id], number, partition.leader, *partition.isr)
        for (topic_id, number), partition in tables["partitions"].values.items()
    }
    lagging = _rows(kraftlake, built_lake, query.format("under_replicated_at"), *at)
    expected = {
        (names[topic_id], number)
        for (topic_id, number), partition in tables["partitions"].values.items()
        if set(partition.replicas) - set(partition.isr)
    }
    assert {(r["topic"], r["partition_id"]) for r in lagging} == expected
    assert expected
    topics = _rows(kraftlake, built_lake, query.format("topics_at"), *at)
    assert {r["topic_id"]: r["topic"] for r in topics} == names
    assert sum(r["partitions"] for r in topics) == len(leaders)
