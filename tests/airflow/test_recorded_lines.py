"""What the DAGs submit, as it is recorded, exists and is understood: told without Airflow."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer

from jobs.cli.main import app
from tests.airflow.conftest import REPOSITORY

LINES = Path(__file__).parent / "spark_submit_lines.txt"


def _submitted() -> list[list[str]]:
    lines = LINES.read_text(encoding="utf-8").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("spark-submit")]


@pytest.mark.parametrize("words", _submitted(), ids=" ".join)
def test_each_recorded_line_submits_a_job_with_options_that_it_has(words: list[str]) -> None:
    assert words[words.index("--master") + 1] == "local[2]"
    (application,) = (word for word in words if word.endswith(".py"))
    job = REPOSITORY / Path(application).relative_to("/kraftlake")
    assert 'if __name__ == "__main__":' in job.read_text(encoding="utf-8")
    command = typer.main.get_command(app)
    parsed = command.commands[job.stem]  # type: ignore[attr-defined]
    arguments = words[words.index(application) + 1 :]
    context = parsed.make_context(job.stem, arguments)
    assert context.params["lake"].place == "/srv/state/lake"


def test_every_job_that_the_dags_submit_is_recorded() -> None:
    jobs = {Path(word).stem for words in _submitted() for word in words if word.endswith(".py")}
    assert jobs == {"ingest", "build", "publish", "report", "quality", "maintain"}
