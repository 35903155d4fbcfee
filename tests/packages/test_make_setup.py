"""What `make` does with environments that are there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.parametrize(
    ("target", "name", "lock"),
    [
        ("setup", ".venv", "requirements.lock"),
        ("airflow", ".venv-airflow", "airflow/requirements.lock"),
        ("dbt", ".venv-dbt", "dbt/requirements.lock"),
        ("audit", ".venv-audit", "packaging/audit/requirements.lock"),
        ("docs", ".venv-docs", "packaging/site/requirements.lock"),
    ],
)
def test_an_environment_that_a_link_leads_to_is_not_emptied(
    tmp_path: Path, target: str, name: str, lock: str
) -> None:
    other, checkout = tmp_path / "other", tmp_path / "checkout"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "pip").write_text(f"#!{other}/bin/python\n")
    (other / ".made-from").write_text("of another checkout\n")
    (checkout / lock).parent.mkdir(parents=True)
    (checkout / lock).touch()
    (checkout / "pyproject.toml").touch()
    (checkout / name).symlink_to(other)

    words = ["make", "--no-print-directory", "-f", str(MAKEFILE), target]
    ended = subprocess.run(words, cwd=checkout, capture_output=True, text=True, timeout=60)

    assert ended.returncode != 0
    assert ended.stdout == ""
    (told,) = [line for line in ended.stderr.splitlines() if "is a link to" in line]
    assert str(other) in told
    assert f"rm {name}" in told
    assert (other / "bin" / "pip").exists()
    assert (other / ".made-from").read_text() == "of another checkout\n"
