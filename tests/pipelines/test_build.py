"""A build of a whole lake: what it says, what it leaves, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from jobs import ingest
from jobs.build import run as run_build
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from pipelines import build as building
from pipelines.build import build
from pipelines.delta import Lake
from pipelines.runners.local import LocalRunner
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from replica.errors import BusyError, UsageError
from tests.pipelines.lake_rows import assert_same


@pytest.fixture(scope="module")
def ingested(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one replica, not built."""
    lake = tmp_path_factory.mktemp("small") / "lake"
    node = data / "kafka-3.7.2-static" / "final" / "12"
    assert ingest.run(IngestOptions([str(node)], Lake(lake))) == 0
    return lake


@pytest.fixture
def lake(ingested: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(ingested, tmp_path / "lake"))


def built(lake: Path) -> tuple[dict[str, int], list[str]]:
    """The rows by table, and what the build told."""
    told: list[str] = []
    with LocalRunner() as runner:
        return build(Lake(lake), runner, told.append), told


def test_a_lake_without_bronze_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no bronze tables: run `kraftlake ingest"):
        built(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_second_build_of_the_same_lake_writes_no_table(lake: Path) -> None:
    first, told = built(lake)
    assert set(first) == {one.name for one in (*SILVER, *GOLD)}
    assert told[0].startswith("derive: 1 of grain cluster")
    assert told[-1] == "commit"
    before = {one: DeltaTable(str(lake / one.replace(".", "/"))).version() for one in first}
    assert built(lake)[0] == first
    after = {one: DeltaTable(str(lake / one.replace(".", "/"))).version() for one in first}
    assert after == before


def test_of_two_builds_at_once_one_is_made_and_the_other_is_told_to_run_again(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one begins when the first has derived all rows and has committed nothing yet."""
    alone = Path(shutil.copytree(lake, tmp_path / "alone"))
    built(alone)
    derive = building._derive

    def late(*arguments: Any) -> None:
        derive(*arguments)
        monkeypatch.undo()
        assert run_build(BuildOptions(Lake(lake))) == 0

    monkeypatch.setattr(building, "_derive", late)
    with pytest.raises(BusyError) as caught:
        run_build(BuildOptions(Lake(lake)))
    assert caught.value.is_temporary
    assert_same(lake, alone)
