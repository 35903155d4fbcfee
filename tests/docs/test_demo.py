"""`make demo` prints the answers that the page of questions shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.commands.lake import DemoOptions
from jobs.cli.lake.demo import run
from pipelines.lake import Lake
from tests.docs.pages import ROOT, steps


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_gives_the_answers_of_its_page(
    spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(DemoOptions(lake=Lake(tmp_path / "lake"))) == 0
    printed = capsys.readouterr().out
    page = (ROOT / "docs" / "tutorial" / "questions.md").read_text("utf-8")
    asked = [step for step in steps(page) if step.kind == "sql"]
    assert asked
    for step in asked:
        assert f"{step.text};\n\n{step.expected}" in printed
