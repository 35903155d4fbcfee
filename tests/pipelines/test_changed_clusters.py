"""A build after some clusters have changed: what it computes, and that all tables come out as of a
build of everything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.lake import ingest
from pipelines import small_build
from pipelines.delta import Lake
from pipelines.delta.contents import put
from pipelines.last_build import FILE_NAME, last_build, note_build
from pipelines.small_build import build_small
from pipelines.tables.bronze import BRONZE
from pipelines.tables.gold import FINDINGS, GOLD, METADATA_CHANGES, METADATA_HISTORY
from pipelines.tables.silver import COMMITTED_LOG, SILVER
from tests.bench.same_tables import rows

DERIVED = [contract.name for contract in (*SILVER, *GOLD)]
DYNAMIC, STATIC, TWIN = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw", "AAAAAAAAAAAAAAAAAAAAAQ"


def ingested(lake: Path, *paths: Path, at: str = "2026-11-21T01:00Z") -> None:
    assert ingest.run(IngestOptions([str(path) for path in paths], Lake(lake), captured_at=at)) == 0


def built(lake: Path) -> list[str]:
    """What the build told."""
    lines: list[str] = []
    assert build_small(Lake(lake), lines.append) is not None
    return lines


def built_anew(lake: Path, folder: Path) -> Path:
    """A copy, of which everything is computed."""
    shutil.copytree(lake, folder)
    (folder / FILE_NAME).unlink(missing_ok=True)
    for layer in ("silver", "gold"):
        shutil.rmtree(folder / layer, ignore_errors=True)
    built(folder)
    return folder


def assert_same(one: Path, other: Path) -> None:
    for table in DERIVED:
        assert rows(str(one), table) == rows(str(other), table), table


def versions(lake: Path) -> dict[str, int]:
    return {name: opened(lake, name).version() for name in DERIVED}


def opened(lake: Path, name: str) -> DeltaTable:
    return DeltaTable(str(lake / name.replace(".", "/")))


def clusters_of(lake: Path, name: str) -> set[str]:
    found = pa.table(opened(lake, name).to_pyarrow_table(columns=["cluster_id"]))
    return set(found["cluster_id"].to_pylist())


@pytest.fixture(scope="module")
def three(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built lake of three clusters, captured in one round; one has the log of another."""
    folder = tmp_path_factory.mktemp("three")
    twin = Path(shutil.copytree(data / "kafka-3.7.2-static" / "live" / "1", folder / "twin"))
    meta = twin / "meta.properties"
    meta.chmod(0o644)
    meta.write_text(meta.read_text().replace(STATIC, TWIN))
    ingested(
        folder / "lake",
        data / "kafka-3.7.2-static" / "live" / "1",
        data / "kafka-4.1.1-dynamic" / "live" / "1",
        twin,
    )
    built(folder / "lake")
    return folder / "lake"


@pytest.fixture
def lake(three: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(three, tmp_path / "lake"))


@pytest.fixture
def grown(lake: Path, data: Path) -> Path:
    """The lake with more of one cluster, not built since."""
    ingested(lake, data / "kafka-4.1.1-dynamic" / "split" / "1", at="2026-11-21T02:00Z")
    return lake


def test_only_clusters_with_new_rows_are_computed(grown: Path, tmp_path: Path) -> None:
    assert "1 of 3 clusters have changed" in built(grown)
    assert_same(grown, built_anew(grown, tmp_path / "anew"))
    assert last_build(Lake(grown)) is not None


def test_tables_that_stay_as_they_are_get_no_commit(lake: Path) -> None:
    opened(lake, "bronze.damage").alter.set_table_description("changed")
    before = versions(lake)
    assert "0 of 3 clusters have changed" in built(lake)
    assert versions(lake) == before


def test_the_change_feed_has_new_rows_of_the_grown_cluster_only(grown: Path) -> None:
    before = rows(str(grown), METADATA_CHANGES.name)
    version = opened(grown, METADATA_CHANGES.name).version()
    built(grown)
    table = opened(grown, METADATA_CHANGES.name)
    assert table.version() == version + 1
    feed = pa.table(table.load_cdf(starting_version=version + 1).read_all()).to_pylist()
    assert {row["cluster_id"] for row in feed} == {DYNAMIC}
    new = (rows(str(grown), METADATA_CHANGES.name) - before).total()
    assert sum(row["_change_type"] in ("insert", "update_postimage") for row in feed) == new > 0


def test_findings_between_clusters_follow_a_cluster_that_is_gone(
    lake: Path, tmp_path: Path
) -> None:
    before = rows(str(lake), FINDINGS.name)
    for contract in BRONZE:
        if "cluster_id" in contract.column_names:
            opened(lake, contract.name).delete(f"cluster_id = '{TWIN}'")
    assert "0 of 2 clusters have changed" in built(lake)
    assert_same(lake, built_anew(lake, tmp_path / "anew"))
    assert TWIN not in clusters_of(lake, COMMITTED_LOG.name) | clusters_of(lake, FINDINGS.name)
    gone = before - rows(str(lake), FINDINGS.name)
    assert any("cluster-id-mismatch" in row or "holds the same record" in row for row in gone)


@pytest.mark.slow
@pytest.mark.parametrize("name", [COMMITTED_LOG.name, FINDINGS.name])
def test_a_table_that_somebody_else_wrote_is_made_anew(
    grown: Path, tmp_path: Path, name: str
) -> None:
    opened(grown, name).delete(f"cluster_id = '{STATIC}'")
    lines = built(grown)
    assert not any("have changed" in line for line in lines)
    assert_same(grown, built_anew(grown, tmp_path / "anew"))


@pytest.mark.slow
def test_after_a_build_that_noted_no_clusters_all_are_computed(grown: Path, tmp_path: Path) -> None:
    """Such as one by Spark."""
    known = last_build(Lake(grown))
    assert known is not None
    note_build(Lake(grown), {name: at for name, (_, at) in known.tables.items()}, known.rows)
    assert not any("have changed" in line for line in built(grown))
    assert_same(grown, built_anew(grown, tmp_path / "anew"))


@pytest.mark.slow
def test_tables_that_an_interrupted_build_wrote_are_not_written_again(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def failing(*arguments: object) -> None:
        contract = arguments[1]
        if contract is METADATA_HISTORY:
            raise KeyboardInterrupt
        put(*arguments)  # type: ignore[arg-type]
        done.append(contract.name)  # type: ignore[attr-defined]

    monkeypatch.setattr(small_build, "put", failing)
    with pytest.raises(KeyboardInterrupt):
        built(grown)
    monkeypatch.undo()
    between = versions(grown)
    built(grown)
    assert_same(grown, built_anew(grown, tmp_path / "anew"))
    after = versions(grown)
    assert COMMITTED_LOG.name in done
    assert {name for name in done if after[name] != between[name]} == set()
    assert after[METADATA_HISTORY.name] == between[METADATA_HISTORY.name] + 1


@pytest.mark.slow
def test_processes_make_the_rows_that_one_makes(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew = built_anew(grown, tmp_path / "anew")
    monkeypatch.setattr(small_build, "cores", lambda: 2)
    monkeypatch.setattr(small_build, "_RECORDS_OF_A_PROCESS", 1)
    monkeypatch.setattr(small_build, "_RECORDS_AT_ONCE", 1)
    assert_same(anew, built_anew(grown, tmp_path / "by_two"))
