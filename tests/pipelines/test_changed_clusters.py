"""A build after some clusters have changed: what it computes, and that all tables come out as of a
build of everything."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs import ingest
from jobs.cli.commands.lake import ForgetOptions, IngestOptions
from jobs.cli.lake import forget
from pipelines import audit_and_commit
from pipelines import build as building
from pipelines import last_build as last
from pipelines.build import build
from pipelines.delta import Lake
from pipelines.delta.committing import INGEST
from pipelines.delta.unit_commits import commit_units
from pipelines.last_build import FILE_NAME, last_build
from pipelines.runners import local
from pipelines.runners.local import LocalRunner
from pipelines.tables.bronze import BRONZE, CAPTURES
from pipelines.tables.gold import (
    FINDINGS,
    GOLD,
    LEADER_EPOCH_HISTORY,
    METADATA_CHANGES,
    METADATA_HISTORY,
)
from pipelines.tables.quorum import REPLICA_STATUS
from pipelines.tables.silver import COMMITTED_LOG, SILVER
from tests.bench.same_tables import rows
from tests.pipelines.fed_tables import FED, FedTables
from tests.pipelines.lake_rows import assert_same

DERIVED = [contract.name for contract in (*SILVER, *GOLD)]
DYNAMIC, STATIC, TWIN = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw", "AAAAAAAAAAAAAAAAAAAAAQ"


def ingested(lake: Path, *paths: Path, at: str = "2026-11-21T01:00Z") -> None:
    assert ingest.run(IngestOptions([str(path) for path in paths], Lake(lake), captured_at=at)) == 0


def built(lake: Path, at_once: int = 1) -> list[str]:
    """What the build told."""
    lines: list[str] = []
    with LocalRunner(at_once=at_once) as runner:
        build(Lake(lake), runner, lines.append)
    return lines


def built_anew(lake: Path, folder: Path) -> Path:
    """A copy, of which everything is computed."""
    shutil.copytree(lake, folder)
    (folder / FILE_NAME).unlink(missing_ok=True)
    for layer in ("silver", "gold"):
        shutil.rmtree(folder / layer, ignore_errors=True)
    built(folder)
    return folder


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


@pytest.fixture(scope="module")
def more(three: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake with more of one cluster, not built since. Read only."""
    lake = Path(shutil.copytree(three, tmp_path_factory.mktemp("more") / "lake"))
    ingested(lake, data / "kafka-4.1.1-dynamic" / "split" / "1", at="2026-11-21T02:00Z")
    return lake


@pytest.fixture
def grown(more: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(more, tmp_path / "lake"))


@pytest.fixture(scope="module")
def anew(more: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its captures with all that is derived of them computed at once. Read only."""
    return built_anew(more, tmp_path_factory.mktemp("anew") / "lake")


@dataclass(frozen=True)
class Continued:
    """The grown lake after a build that went on with the last one. Read only. said: what the build
    told. fed: the tables before it."""

    lake: Path
    said: list[str]
    fed: FedTables


@pytest.fixture(scope="module")
def continued(more: Path, tmp_path_factory: pytest.TempPathFactory) -> Continued:
    lake = Path(shutil.copytree(more, tmp_path_factory.mktemp("continued") / "lake"))
    files = [{*opened(lake, name).file_uris()} for name in DERIVED]
    assert {*map(len, files)} == {0, 1}, "the clusters share each file"
    fed = FedTables.of(lake)
    return Continued(lake, built(lake), fed)


def test_only_clusters_with_new_rows_are_computed_and_the_others_keep_theirs_in_shared_files(
    continued: Continued, anew: Path
) -> None:
    assert "1 of 3 clusters have changed" in continued.said
    assert_same(continued.lake, anew)
    assert last_build(Lake(continued.lake)) is not None


def test_tables_that_stay_as_they_are_get_no_commit(lake: Path) -> None:
    opened(lake, "bronze.damage").alter.set_table_properties({"delta.appendOnly": "false"})
    before = versions(lake)
    assert "0 of 3 clusters have changed" in built(lake)
    assert versions(lake) == before


def test_all_tables_of_gold_but_the_history_of_each_entity_have_a_feed() -> None:
    assert {*GOLD} - {*FED} == {METADATA_HISTORY}


def test_the_change_feeds_tell_the_rows_that_differ_and_no_other(continued: Continued) -> None:
    feeds = continued.fed.told()
    assert {row["cluster_id"] for feed in feeds.values() for row in feed} == {DYNAMIC}
    told = {name for name, feed in feeds.items() if feed}
    assert told >= {METADATA_CHANGES.name, LEADER_EPOCH_HISTORY.name, REPLICA_STATUS.name}


def test_where_all_is_derived_again_and_nothing_differs_the_feeds_tell_nothing(lake: Path) -> None:
    before = FedTables.of(lake)
    (lake / FILE_NAME).unlink()
    assert not any("have changed" in line for line in built(lake)), "all are derived again"
    assert {*map(len, before.told().values())} == {0}


def deleted(lake: Path, cluster_id: str) -> None:
    for contract in BRONZE:
        if "cluster_id" in contract.column_names:
            opened(lake, contract.name).delete(f"cluster_id = '{cluster_id}'")


@pytest.mark.slow
def test_a_cluster_that_is_gone_leaves_no_row_and_no_finding_between_clusters(
    lake: Path, tmp_path: Path
) -> None:
    before = FedTables.of(lake)
    deleted(lake, TWIN)
    assert not any("have changed" in line for line in built(lake)), "all are derived again"
    assert_same(lake, built_anew(lake, tmp_path / "anew"))
    for contract in (*SILVER, *GOLD):
        assert TWIN not in clusters_of(lake, contract.name), contract.name
    feeds = before.told()
    of_twin = [row for feed in feeds.values() for row in feed if row["cluster_id"] == TWIN]
    assert of_twin
    assert {row["_change_type"] for row in of_twin} == {"delete"}
    gone = before.rows[FINDINGS.name] - rows(str(lake), FINDINGS.name)
    assert any("cluster-id-mismatch" in row or "holds the same record" in row for row in gone)


@pytest.mark.spark
@pytest.mark.slow
def test_after_a_forget_all_clusters_are_derived_again(grown: Path, tmp_path: Path) -> None:
    built(grown)
    assert forget.run(ForgetOptions(Lake(grown), clusters=[TWIN], confirmed=True)) == 0
    assert not any("have changed" in line for line in built(grown))
    assert_same(grown, built_anew(grown, tmp_path / "anew"))


@pytest.mark.slow
def test_after_a_foreign_commit_to_bronze_all_clusters_are_derived_again(
    grown: Path, tmp_path: Path
) -> None:
    """It may have changed rows of clusters whose captures stay as they are."""
    built(grown)
    opened(grown, "bronze.log_records").delete(f"cluster_id = '{STATIC}' AND base_offset > 100")
    assert not any("have changed" in line for line in built(grown))
    assert_same(grown, built_anew(grown, tmp_path / "anew"))


def test_commits_of_an_ingest_say_so_and_those_of_a_build_do_not(
    continued: Continued,
) -> None:
    for contract in BRONZE:
        for commit in opened(continued.lake, contract.name).history():
            is_of_ingest = INGEST.items() <= commit.items()
            assert is_of_ingest or commit["operation"] == "CREATE TABLE", (contract.name, commit)
    for name in DERIVED:
        for commit in opened(continued.lake, name).history():
            assert not INGEST.items() <= commit.items(), name


@pytest.mark.slow
def test_where_old_commits_are_unknown_all_clusters_are_derived_again(grown: Path) -> None:
    known = last_build(Lake(grown))
    assert known is not None
    assert known.can_be_continued(Lake(grown))
    table = opened(grown, CAPTURES.name)
    table.create_checkpoint()
    log = grown / "bronze" / "captures" / "_delta_log"
    for version in range(table.version()):
        (log / f"{version:020d}.json").unlink()
    assert known.can_be_continued(Lake(grown)), "its only commit since is known"
    (log / f"{table.version():020d}.json").unlink()
    assert not known.can_be_continued(Lake(grown))


def test_other_functions_derive_all_clusters_again(
    grown: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last, "DERIVATION", last.DERIVATION + 1)
    assert not any("have changed" in line for line in built(grown))
    ingested_nothing = last_build(Lake(grown))
    assert ingested_nothing is not None
    assert ingested_nothing.still_holds(Lake(grown))


@pytest.mark.slow
@pytest.mark.parametrize("name", [COMMITTED_LOG.name, FINDINGS.name])
def test_a_table_that_somebody_else_wrote_is_made_anew(grown: Path, anew: Path, name: str) -> None:
    opened(grown, name).delete(f"cluster_id = '{STATIC}'")
    lines = built(grown)
    assert not any("have changed" in line for line in lines)
    assert_same(grown, anew)


@pytest.mark.slow
def test_a_build_that_was_stopped_between_its_commits_is_made_again(
    grown: Path, anew: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def failing(*arguments: Any) -> None:
        if arguments[1] is METADATA_HISTORY:
            raise KeyboardInterrupt
        commit_units(*arguments)
        done.append(arguments[1].name)

    monkeypatch.setattr(audit_and_commit, "commit_units", failing)
    with pytest.raises(KeyboardInterrupt):
        built(grown)
    monkeypatch.undo()
    assert COMMITTED_LOG.name in done
    assert METADATA_CHANGES.name not in done
    built(grown)
    assert_same(grown, anew)
    version = opened(grown, METADATA_CHANGES.name).version()
    table = opened(grown, METADATA_CHANGES.name)
    feed = pa.table(table.load_cdf(starting_version=version).read_all()).to_pylist()
    assert {row["cluster_id"] for row in feed} == {DYNAMIC}, "only new rows are told"


_KILLED = """
import os, signal, sys
from pipelines import audit_and_commit
from pipelines.delta.unit_commits import commit_units
from tests.pipelines.test_changed_clusters import built
count = int(sys.argv[2])
def counted(*arguments):
    global count
    if not count:
        os.kill(os.getpid(), signal.SIGKILL)
    count -= 1
    commit_units(*arguments)
audit_and_commit.commit_units = counted
built(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("commits", [0, 1, 3, 8, 19])
def test_after_kill_9_between_commits_the_next_build_gives_the_right_rows(
    grown: Path, anew: Path, commits: int
) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, grown, str(commits)], check=False)
    assert killed.returncode == -signal.SIGKILL
    built(grown)
    assert_same(grown, anew)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 2])
def test_units_of_single_clusters_and_processes_make_the_same_rows(
    grown: Path, anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(building, "_RECORDS_OF_A_UNIT", 1)
    monkeypatch.setattr(local, "PROCESS_WEIGHT", 100)
    other = Path(shutil.copytree(grown, tmp_path / "other"))
    (other / FILE_NAME).unlink()
    built(other, at_once)
    assert_same(anew, other)
