"""Small data files that are joined: the rows stay, and whoever reads changes sees none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipelines.delta import Lake, compacting
from pipelines.delta.compacting import compact
from pipelines.lake.delta_rs import open_table
from pipelines.tables.bronze import CAPTURES, LOG_RECORDS, SNAPSHOTS
from pipelines.tables.contract import Contract
from tests.bench.same_tables import rows


@pytest.fixture
def lake(recorded_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compacting, "_LEAST_FILES", 2)
    return Path(shutil.copytree(recorded_lake, tmp_path / "lake"))


def files(lake: Path, contract: Contract) -> list[str]:
    return open_table(Lake(lake).table_uri(contract.name)).file_uris()


def test_joined_files_have_the_rows_of_before(lake: Path) -> None:
    for contract in (CAPTURES, LOG_RECORDS, SNAPSHOTS):
        before, count = rows(str(lake), contract.name), len(files(lake, contract))
        replaced = compact(Lake(lake), contract)
        assert rows(str(lake), contract.name) == before, contract.name
        assert len(files(lake, contract)) <= count - replaced // 2, contract.name
        assert compact(Lake(lake), contract) == 0, "a second run finds nothing to do"


def test_each_file_keeps_the_rows_of_one_replica(lake: Path) -> None:
    assert compact(Lake(lake), LOG_RECORDS)
    actions = open_table(Lake(lake).table_uri(LOG_RECORDS.name)).get_add_actions(flatten=True)
    for name in ("cluster_id", "node_id", "directory_id"):
        low, high = (actions.column(f"{bound}.{name}").to_pylist() for bound in ("min", "max"))
        assert low == high, name


def test_the_commit_says_that_no_row_has_changed(lake: Path) -> None:
    assert compact(Lake(lake), LOG_RECORDS)
    log = lake / "bronze" / "log_records" / "_delta_log"
    newest = max(log.glob("*.json")).read_text().splitlines()
    actions = [one.get("add") or one.get("remove") for one in map(json.loads, newest)]
    changed = [one["dataChange"] for one in actions if one]
    assert changed, newest
    assert not any(changed)


def test_a_few_small_files_are_left_as_they_are(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "_LEAST_FILES", 1000)
    before = files(lake, LOG_RECORDS)
    assert compact(Lake(lake), LOG_RECORDS) == 0
    assert files(lake, LOG_RECORDS) == before


def test_a_large_file_is_joined_only_with_as_many_bytes_of_smaller_ones() -> None:
    def kept(*sizes: int) -> list[int]:
        files = [{"path": str(number), "size_bytes": size} for number, size in enumerate(sizes)]
        return [file["size_bytes"] for file in compacting._without_large(files)]

    assert kept(90, 10, 10) == [10, 10]
    assert kept(20, 10, 10) == [10, 10, 20]
    assert kept(900, 300, 50, 50) == [50, 50]
    assert kept(5) == []


def test_a_row_of_a_growing_table_is_rewritten_a_few_times() -> None:
    """Files of one size are added one by one, and joined when there are eight: the bytes that
    are written grow by their logarithm, and not by their square."""
    sizes: list[int] = []
    written = 0
    for _ in range(512):
        sizes.append(1)
        files = [{"path": str(number), "size_bytes": size} for number, size in enumerate(sizes)]
        joined = [one["size_bytes"] for one in compacting._without_large(files)]
        if len(joined) >= 8:
            for size in joined:
                sizes.remove(size)
            sizes.append(sum(joined))
            written += sum(joined)
    assert written < 512 * 9
    assert len(sizes) < 20
