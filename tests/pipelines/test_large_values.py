"""Records of many bytes: a cluster is derived in pieces by what its values take, decompressed."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines import build
from pipelines.changed_clusters import ChangedClusters
from pipelines.delta import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.runners.local import LocalRunner
from pipelines.stages.pins import Pins
from pipelines.tables.bronze import BRONZE


@pytest.fixture(scope="module")
def lake(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one replica, not built."""
    lake = tmp_path_factory.mktemp("values") / "lake"
    node = data / "kafka-3.7.2-static" / "final" / "12"
    assert ingest.run(IngestOptions([str(node)], Lake(lake))) == 0
    return lake


def _value_bytes(lake: Path) -> int:
    """The bytes of the values in bronze, read row by row."""
    found = 0
    for name in ("log_records", "snapshot_records"):
        records = QueryBuilder().register("t", DeltaTable(str(lake / "bronze" / name)))
        values = records.execute("SELECT value FROM t").read_all()["value"]
        found += sum(len(value.as_py() or b"") for value in values)
    return found


@pytest.mark.parametrize(("above", "is_cut"), [(-1, True), (0, False)])
def test_records_of_many_bytes_are_derived_in_pieces_however_few_they_are(
    lake: Path, monkeypatch: pytest.MonkeyPatch, above: int, is_cut: bool
) -> None:
    monkeypatch.setattr(build, "_SNAPPY_FACTOR", 1_000_000)
    monkeypatch.setattr(build, "_MOST_VALUE_BYTES", _value_bytes(lake) + above)
    told: list[str] = []
    with LocalRunner() as runner:
        build.build(Lake(lake), runner, told.append)
    assert any(line.startswith("survey") for line in told) == is_cut, told


def test_a_file_with_several_clusters_counts_whole_for_each_of_them(
    data: Path, tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    nodes = [
        str(data / "kafka-3.7.2-static" / "final" / "12"),
        str(data / "kafka-4.1.1-dynamic" / "final" / "1"),
    ]
    assert ingest.run(IngestOptions(nodes, lake)) == 0
    size = 0
    for name in ("bronze.log_records", "bronze.snapshot_records"):
        table = DeltaTable(lake.table_uri(name))
        table.optimize.compact()
        (file_bytes,) = table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
        size += file_bytes
    versions = newest_versions(lake, [one.name for one in BRONZE])
    found = ChangedClusters(Pins(lake, versions), None).sizes
    assert [one.file_bytes for one in found.values()] == [size, size]
