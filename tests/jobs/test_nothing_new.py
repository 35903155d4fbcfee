"""Jobs that find nothing new end before their engine starts, and say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs import build, ingest
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from pipelines.lake import Lake
from pipelines.last_build import FILE_NAME, last_build
from tests.jobs.conftest import Kraftlake

AT = "2026-11-21T01:00Z"

pytestmark = pytest.mark.spark


def no_runner(*_: object) -> None:
    raise AssertionError("its engine was started")


def begun(*_: object) -> dict[str, int]:
    raise AssertionError("it began")


@pytest.fixture(scope="module")
def built(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one replica, built."""
    lake = tmp_path_factory.mktemp("nothing_new") / "lake"
    node = data / "kafka-3.7.2-static" / "final" / "12"
    assert ingest.run(IngestOptions([str(node)], Lake(lake), captured_at=AT)) == 0
    assert build.run(BuildOptions(Lake(lake))) == 0
    return lake


@pytest.fixture
def lake(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "lake"))


def versions(lake: Path) -> dict[str, int]:
    logs = lake.glob("*/*/_delta_log")
    return {str(log.parent): DeltaTable(str(log.parent)).version() for log in logs}


def test_an_ingest_of_known_captures_starts_no_runner_and_commits_nothing(
    lake: Path, data: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "runner_of", no_runner)
    before = versions(lake)
    node = data / "kafka-3.7.2-static" / "final" / "12"
    for option in ((), ("--verify",)):
        ended = kraftlake("ingest", "--lake", lake, "--captured-at", AT, *option, node)
        assert ended.code == 0
        assert "ingest: nothing new: the lake has all of it" in ended.complaints
        assert {line.split()[1] for line in ended.lines[2:]} == {"0"}
    assert versions(lake) == before


def test_damage_that_belongs_to_no_replica_is_new_once(
    lake: Path, tmp_path: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    bundle.write_bytes(b"no bundle at all")
    first = kraftlake("ingest", "--lake", lake, "--json", bundle)
    assert first.code == 1
    monkeypatch.setattr(ingest, "runner_of", no_runner)
    again = kraftlake("ingest", "--lake", lake, "--json", bundle)
    assert again.code == 0
    assert "ingest: nothing new: the lake has all of it" in again.complaints


def test_a_build_of_what_was_built_starts_no_runner_and_tells_the_same_rows(
    lake: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "runner_of", no_runner)
    before = versions(lake)
    ended = kraftlake("build", "--lake", lake)
    assert ended.code == 0
    assert ended.complaints == ["build: nothing has changed since the last build"]
    known = last_build(Lake(lake))
    assert known is not None
    assert dict(line.split() for line in ended.lines[2:]) == {
        name: str(rows) for name, rows in known.rows.items()
    }
    assert versions(lake) == before


@pytest.mark.parametrize("change", ["bronze", "derived", "gone", "code", "unreadable note"])
def test_a_build_begins_where_anything_has_changed(
    lake: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    if change in ("bronze", "derived"):
        table = "bronze/damage" if change == "bronze" else "gold/findings"
        DeltaTable(str(lake / table)).alter.set_table_description("changed")
    elif change == "gone":
        shutil.rmtree(lake / "gold" / "findings")
    elif change == "code":
        monkeypatch.setattr("pipelines.last_build.DERIVATION", -1)
    else:
        (lake / FILE_NAME).write_text("{")
    monkeypatch.setattr("pipelines.build.build", begun)
    with pytest.raises(AssertionError, match="it began"):
        build.build_tables(None, BuildOptions(Lake(lake)))
