"""README shows what really comes out; REWRITE_EXAMPLES=1 writes it there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobs.cli import app
from jobs.outcome import run as run_command
from jobs.questions import DEMO
from tests.docs.examples import DEMO_LAKE, Run, examples, rewritten

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"

pytestmark = pytest.mark.spark


@pytest.fixture
def run(
    built_lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs kraftlake in the checkout, on a lake like the demo's."""
    monkeypatch.chdir(ROOT)

    def kraftlake(arguments: list[str]) -> str:
        capsys.readouterr()
        run_command(app, [str(built_lake) if word == DEMO_LAKE else word for word in arguments])
        return capsys.readouterr().out

    return kraftlake


def test_every_output_in_the_readme_is_the_real_one(run: Run) -> None:
    text = README.read_text(encoding="utf-8")
    if os.environ.get("REWRITE_EXAMPLES"):
        README.write_text(rewritten(text, run), encoding="utf-8")
        text = README.read_text(encoding="utf-8")
    found = list(examples(text))
    assert len(found) >= len(DEMO)
    for example in found:
        assert example.output(run) == example.expected, example.arguments


def test_the_readme_asks_the_questions_of_the_demo() -> None:
    text = README.read_text(encoding="utf-8")
    for question in DEMO:
        assert f"### {question.title}\n\n```sql\n{question.sql}\n```\n" in text
