"""`make test` runs all that it should, and fails where a test does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.side_by_side import REPLICA, main

TEST = """import os
import pytest

def test_of_{name}(): assert os.environ["BROKEN"] != "{name}"

@pytest.mark.slow
def test_slow(): assert False
"""


@pytest.mark.parametrize("broken", ["", "replica", "others"])
def test_both_halves_run_and_the_failure_of_either_is_told(
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("replica", "others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(TEST.format(name=name))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -v\nmarkers =\n  slow\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROKEN", broken)

    assert main("not slow", ["replica"]) == (1 if broken else 0)

    said = capfd.readouterr().out
    for name in ("replica", "others"):
        assert said.count(f"test_of_{name} {'FAILED' if name == broken else 'PASSED'}") == 1
    assert "test_slow" not in said


def test_no_test_of_the_replica_needs_spark() -> None:
    tests = (
        path for folder in REPLICA for path in Path(__file__).parents[1].glob(f"{folder}/**/*.py")
    )
    assert [path for path in tests if "mark.spark" in path.read_text(encoding="utf-8")] == []
