"""`make test` runs all that it should, and fails where a test does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.side_by_side import main

TESTS = """import os
import pytest

@pytest.mark.spark
def test_with(): assert os.environ["BROKEN"] != "with"

@pytest.mark.spark
@pytest.mark.slow
def test_slow(): assert False

def test_without(): assert os.environ["BROKEN"] != "without"
"""


@pytest.mark.parametrize("broken", ["", "with", "without"])
def test_both_halves_run_and_the_failure_of_either_is_told(
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -v\nmarkers =\n  spark\n  slow\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROKEN", broken)

    assert main("not slow") == (1 if broken else 0)

    said = capfd.readouterr().out
    for name in ("with", "without"):
        assert f"test_{name} {'FAILED' if name == broken else 'PASSED'}" in said
    assert "test_slow" not in said
