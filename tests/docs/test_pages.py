"""The pages below docs show what really comes out; REWRITE_EXAMPLES=1 writes it there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from jobs.cli import app
from jobs.outcome import run as run_command
from tests.docs.examples import Run, examples, rewritten

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks.md"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs kraftlake in an empty folder, where later commands find what earlier ones wrote."""
    monkeypatch.chdir(tmp_path)

    def kraftlake(arguments: list[str]) -> str:
        capsys.readouterr()
        assert run_command(app, arguments) in (0, 1), capsys.readouterr().err
        return capsys.readouterr().out

    return kraftlake


def test_every_output_in_the_runbooks_is_the_real_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = RUNBOOKS.read_text(encoding="utf-8")
    if os.environ.get("REWRITE_EXAMPLES"):
        folder = tmp_path / "rewriting"
        folder.mkdir()
        monkeypatch.chdir(folder)
        RUNBOOKS.write_text(rewritten(text, run), encoding="utf-8")
        pytest.skip("written anew")
    found = list(examples(text))
    assert len(found) > 20
    for example in found:
        assert example.output(run) == example.expected, example.arguments


def test_every_link_within_the_runbooks_leads_to_a_heading() -> None:
    text = RUNBOOKS.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]*)\)", text)
    assert links
    assert set(links) <= anchors
