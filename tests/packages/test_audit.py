"""What `make audit` makes of pip-audit's answers: a package that wasn't looked up isn't sound."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).parents[2] / "packaging/audit/audit.py"
_SOUND = {"name": "a", "version": "1", "vulns": []}
_SKIPPED = {"name": "b", "skip_reason": "Dependency not found on PyPI"}
_VULNERABLE = {
    "name": "c",
    "version": "2",
    "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}, {"id": "CVE-2", "fix_versions": []}],
}


@pytest.fixture(scope="module")
def audit() -> dict[str, Any]:
    return runpy.run_path(str(_SCRIPT))


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([_SOUND], 0, "1 packages looked up, 0 vulnerabilities known"),
        ([_SKIPPED], 2, "1 of 1 packages could not be looked up"),
        ([_SOUND, _SKIPPED], 2, "1 of 2 packages could not be looked up"),
        ([_SOUND, _VULNERABLE], 1, "2 packages looked up, 2 vulnerabilities known"),
        ([_SKIPPED, _VULNERABLE], 1, "2 vulnerabilities known of the others"),
        ([], 2, "0 packages looked up"),
    ],
)
def test_the_code_is_0_only_where_every_package_was_looked_up_and_is_sound(
    audit: dict[str, Any], packages: list[Any], code: int, said: str
) -> None:
    outcome = audit["outcome_of"]("requirements.lock", {"dependencies": packages})
    assert outcome.code == code
    assert said in outcome.line


def test_the_page_names_each_vulnerability_and_what_mends_it(audit: dict[str, Any]) -> None:
    outcome = audit["outcome_of"]("x.lock", {"dependencies": [_VULNERABLE]})
    text = audit["page"]([outcome], "2026-11-23")
    assert "  - c 2: CVE-1, mended in 3\n  - c 2: CVE-2, mended in no release\n" in text


def test_a_file_that_can_t_be_read_was_not_looked_up(audit: dict[str, Any]) -> None:
    failed = audit["Outcome"]("x.lock", failed="no network")
    assert (failed.code, failed.line) == (2, "x.lock: not looked up: no network")
