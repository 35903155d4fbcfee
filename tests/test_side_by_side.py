"""`make test` runs all that it should, and fails where a test does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.side_by_side import REPLICA, SHARED, main

TEST = f"""import os, sys
import pytest

{{mark}}
def test_of_{{name}}(): assert os.environ["BROKEN"] != "{{name}}"

def test_bytecode_is_kept(): assert not sys.dont_write_bytecode

def test_there_is_a_folder_for_all(): assert os.path.isdir(os.environ["{SHARED}"])

@pytest.mark.slow
def test_slow(): assert False
"""
PARTS = {"replica": "", "others": "", "spark": "@pytest.mark.spark", "replica/later": ""}
"""The processes by their folders, with the mark of their tests."""


@pytest.mark.parametrize("broken", ["", "spark", "later"])
def test_all_parts_run_and_a_failure_of_the_first_or_the_last_is_told(
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for folder, mark in PARTS.items():
        name = Path(folder).name
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"test_{name}.py").write_text(TEST.format(name=name, mark=mark))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -rA\nmarkers =\n  slow\n  spark\n")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROKEN", broken)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    assert main("not slow", ["replica"], [["replica/later"]], ".") == (1 if broken else 0)

    said = capfd.readouterr().out
    for folder in PARTS:
        name = Path(folder).name
        # a line of the summary: pytest writes it whole, also while another process's output comes
        outcome = "FAILED" if name == broken else "PASSED"
        assert said.count(f"{outcome} {folder}/test_{name}.py::test_of_{name}") == 1
    assert "test_slow" not in said
    ended = "1 of 4 failed" if broken else "all passed"
    assert re.fullmatch(
        rf"4 processes of tests: {ended} in 0:\d\d minutes, with \d+ s of processor time",
        said.splitlines()[-1],
    )


def test_no_test_of_the_replica_needs_spark() -> None:
    tests = (
        path for folder in REPLICA for path in Path(__file__).parents[1].glob(f"{folder}/**/*.py")
    )
    assert [path for path in tests if "mark.spark" in path.read_text(encoding="utf-8")] == []


def test_a_mark_that_chooses_no_test_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "replica").mkdir()
    (tmp_path / "test_one.py").write_text(TEST.format(name="one", mark=""))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  spark\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert main("slwo", ["replica"], [], ".") != 0
