"""`make demo` says what README says: the lake's answers to the questions there."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.lake.demo import run
from pipelines.lake import Lake
from tests.docs.pages import ROOT, steps


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_gives_the_answers_of_the_readme(
    spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lake=Lake(tmp_path / "lake")) == 0
    printed = capsys.readouterr().out
    asked = [step for step in steps((ROOT / "README.md").read_text("utf-8")) if step.kind == "sql"]
    assert asked
    for step in asked:
        assert f"{step.text};\n\n{step.expected}" in printed
