"""Commands that are killed with -9, run twice at once, or meet a full or a read-only disk: nothing
that was there is lost, the reason is one line, and the same command ends well afterwards.

maintain and register are in test_killed_spark_commands.py, ingest in test_ingest_killed.py, redact
in test_redact_killed.py.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.jobs.killing import (
    WITHIN_S,
    at_once,
    bounded,
    content,
    killed_after,
    killed_when,
    last_line,
    rows,
)
from tests.kraftlake_process import kraftlake
from tests.pipelines.capture.test_pruning import DAY, captured
from tests.rights import kraftlake as bound_by_modes
from tests.rights import needs_linux, read_only

MOMENTS_MS = (5, 30, 80, 150, 300, 600)
"""When a command without Spark is killed, in ms since its process runs."""
FORMS = ("lake.duckdb", "lake.sqlite", "lake.sql", "tables")


def export_call(lake: Path, target: Path) -> tuple[str, ...]:
    form = () if target.suffix else ("--to", "parquet")
    return ("export", "--lake", str(lake), "-o", str(target), "--overwrite", *form)


def publish_call(lake: Path, out: Path) -> tuple[str, ...]:
    table = "gold.metadata_changes"
    return ("publish", "--lake", str(lake), "--table", table, "--to", str(out))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    place.mkdir()
    return place


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_killed_export_keeps_the_earlier_one_and_the_next_leaves_nothing_else(
    built_lake: Path, out: Path, tmp_path: Path, name: str
) -> None:
    target = out / name
    call = export_call(built_lake, target)
    assert kraftlake(*call).returncode == 0
    names = sorted(content(target))
    for ms in MOMENTS_MS:
        killed_after(ms, tmp_path / "said", *call)
        assert sorted(content(target)) == names
        assert {one.name for one in out.iterdir()} <= {name, f".{name}.kraftlake-part"}
    done = kraftlake(*call)
    assert done.returncode == 0, done.stderr
    assert os.listdir(out) == [name]


def test_an_export_removes_what_a_killed_one_left(built_lake: Path, out: Path) -> None:
    left = out / ".x.csv.kraftlake-part"
    left.mkdir()
    (left / "x.csv").write_text("half")
    (left / "x.csv.wal").write_text("half")
    done = kraftlake("export", "--lake", built_lake, "-o", out / "x.csv", "gold.findings")
    assert done.returncode == 0, done.stderr
    assert os.listdir(out) == ["x.csv"]


def test_an_export_follows_no_link_in_the_place_of_its_draft(built_lake: Path, out: Path) -> None:
    (out / "mine").mkdir()
    (out / "mine" / "thesis").write_text("mine")
    (out / ".x.csv.kraftlake-part").symlink_to(out / "mine")
    done = kraftlake("export", "--lake", built_lake, "-o", out / "x.csv", "gold.findings")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert (out / "mine" / "thesis").read_text() == "mine"


def test_one_of_two_exports_to_one_place_is_told_of_the_other(
    built_lake: Path, out: Path, tmp_path: Path
) -> None:
    ends = at_once(tmp_path, *export_call(built_lake, out / "lake.sqlite"))
    assert {code for code, _ in ends} <= {0, 75}
    assert 0 in {code for code, _ in ends}
    for code, said in ends:
        assert code == 0 or "another kraftlake export writes there" in last_line(said)
    assert os.listdir(out) == ["lake.sqlite"]


@pytest.mark.slow
def test_a_killed_publish_goes_on_and_no_change_is_lost_or_sent_twice(
    built_lake: Path, out: Path, tmp_path: Path
) -> None:
    whole, killed = out / "whole", out / "killed"
    assert kraftlake(*publish_call(built_lake, whole)).returncode == 0
    for ms in MOMENTS_MS:
        killed_after(ms, tmp_path / "said", *publish_call(built_lake, killed))
    assert kraftlake(*publish_call(built_lake, killed)).returncode == 0
    assert content(killed) == content(whole)


def test_one_of_two_publishes_to_one_place_is_told_of_the_other(
    built_lake: Path, out: Path, tmp_path: Path
) -> None:
    ends = at_once(tmp_path, *publish_call(built_lake, out / "feed"))
    assert {code for code, _ in ends} <= {0, 75}
    for code, said in ends:
        assert code == 0 or "another kraftlake publish runs" in last_line(said)
    assert len([*(out / "feed").glob("*.jsonl")]) == 1


def captures(folder: Path, count: int) -> None:
    for number in range(count):
        captured(folder / f"old-{number}", 9 * DAY)
    captured(folder / "new", DAY / 24)


def pruned(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.slow
def test_a_killed_prune_goes_on_and_takes_nothing_that_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    captures(folder, 600)
    call = ("prune", str(folder), "--older-than", "2d")
    seen = set()
    for number, left in enumerate((600, 550, 300)):
        killed_when(tmp_path / f"said-{number}", lambda n=left: len(pruned(folder)) <= n, *call)
        seen.add(len(pruned(folder)))
    assert len(content(folder / "new")) == 2
    done = kraftlake(*call)
    assert done.returncode == 0, done.stderr
    assert pruned(folder) == ["new"]
    assert len(content(folder / "new")) == 2
    assert len(seen) > 1, "it was killed at its work"


def test_two_prunes_of_one_folder_take_each_capture_once_and_fail_about_none(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "captures"
    captures(folder, 100)
    for code, said in at_once(tmp_path, "prune", str(folder), "--older-than", "2d"):
        assert code == 0, said
    assert pruned(folder) == ["new"]


@pytest.mark.parametrize("name", FORMS)
def test_an_export_to_a_full_disk_is_one_line_and_keeps_the_earlier_one(
    built_lake: Path, out: Path, name: str
) -> None:
    target = out / name
    call = export_call(built_lake, target)
    assert kraftlake(*call, "gold.findings").returncode == 0
    before = content(target)
    done = bounded(1000, *call)
    assert done.returncode in (1, 2), done.stderr
    assert last_line(done.stderr).startswith("kraftlake: error: ")
    assert os.listdir(out) == [name]
    assert content(target) == before


def test_a_publish_to_a_full_disk_is_one_line_and_goes_on_later(
    built_lake: Path, out: Path
) -> None:
    call = publish_call(built_lake, out / "feed")
    done = bounded(1000, *call)
    assert done.returncode == 1
    assert "File too large" in last_line(done.stderr)
    assert kraftlake(*call).returncode == 0
    assert kraftlake(*publish_call(built_lake, out / "whole")).returncode == 0
    assert content(out / "feed") == content(out / "whole")


@needs_linux
@pytest.mark.parametrize("command", ["export", "publish"])
def test_a_place_that_is_read_only_is_one_line(built_lake: Path, out: Path, command: str) -> None:
    calls = {"export": export_call(built_lake, out / "x.csv"), "publish": publish_call}
    call = publish_call(built_lake, out / "feed") if command == "publish" else calls["export"]
    with read_only(out):
        done = bound_by_modes(*call, *(["gold.findings"] if command == "export" else []))
    assert done.returncode in (1, 2)
    assert "Permission denied" in last_line(done.stderr)
    assert os.listdir(out) == []


def test_a_build_on_a_full_disk_is_one_line_and_ends_well_later(
    recorded_lake: Path, tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(recorded_lake, tmp_path / "lake"))
    before = rows(lake, "bronze")
    done = bounded(3000, "build", "--lake", str(lake))
    assert done.returncode == 1, done.stderr
    assert "File too large" in last_line(done.stderr)
    assert rows(lake, "bronze") == before
    again = kraftlake("build", "--lake", lake, within_s=WITHIN_S)
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
def test_two_builds_at_once_make_what_one_makes(recorded_lake: Path, tmp_path: Path) -> None:
    alone, both = (shutil.copytree(recorded_lake, tmp_path / name) for name in ("a", "b"))
    assert kraftlake("build", "--lake", alone, within_s=WITHIN_S).returncode == 0
    ends = at_once(tmp_path, "build", "--lake", str(both))
    assert 0 in {code for code, _ in ends}
    for code, said in ends:
        assert code == 0 or "another writer changed it meanwhile: run this again" in last_line(said)
    assert kraftlake("build", "--lake", both, within_s=WITHIN_S).returncode == 0
    counts = [list(rows(lake).values()) for lake in (alone, both)]
    assert counts[0] == counts[1]
