"""Looks for the pinned packages among known vulnerabilities, and writes down the answers.

    .venv-audit/bin/python packaging/audit/audit.py OUTCOME.md NAME.lock...

This module runs pip-audit, which asks PyPI about each package of a lock file. Exit codes: 0 when
every package was looked up and none is known to be vulnerable, 1 when one is, 2 when some could not
be looked up, for example where the network reaches only a mirror of PyPI. pip-audit itself says "no
known vulnerabilities" then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2
_WITHIN_S = 600


@dataclass(frozen=True)
class Outcome:
    """The answers about the packages of one lock file. looked_up, not_looked_up: numbers of
    packages. vulnerable: a line for each vulnerability. failed: why no package could be looked up;
    "" where packages could."""

    lock: str
    looked_up: int = 0
    not_looked_up: int = 0
    vulnerable: tuple[str, ...] = ()
    failed: str = ""

    @property
    def code(self) -> int:
        """The exit code for this lock file alone."""
        if self.vulnerable:
            return VULNERABLE
        return UNKNOWN if self.failed or self.not_looked_up or not self.looked_up else CLEAN

    @property
    def line(self) -> str:
        """The outcome in one line of text."""
        if self.failed:
            return f"{self.lock}: not looked up: {self.failed}"
        if self.not_looked_up:
            all_of_them = self.looked_up + self.not_looked_up
            return (
                f"{self.lock}: {self.not_looked_up} of {all_of_them} packages could not be looked "
                f"up: the network doesn't reach the index's JSON API; "
                f"{len(self.vulnerable)} vulnerabilities known of the others"
            )
        return (
            f"{self.lock}: {self.looked_up} packages looked up, {len(self.vulnerable)} "
            "vulnerabilities known"
        )


def outcome_of(lock: str, answer: Any) -> Outcome:
    """The outcome in pip-audit's JSON. lock: the name of the lock file."""
    packages = answer["dependencies"]
    found = [package for package in packages if "skip_reason" not in package]
    vulnerable = tuple(
        f"{package['name']} {package['version']}: {one['id']}, "
        f"mended in {', '.join(one['fix_versions']) or 'no release'}"
        for package in found
        for one in package["vulns"]
    )
    return Outcome(lock, len(found), len(packages) - len(found), vulnerable)


def audited(lock: str) -> Outcome:
    """Asks pip-audit about the packages in a lock file. Nothing is installed or resolved."""
    command = [
        *(sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"),
        *("--requirement", lock, "--format", "json", "--progress-spinner", "off"),
    ]
    try:
        ended = subprocess.run(  # noqa: S603 (names of files of this repository)
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
        return outcome_of(lock, json.loads(ended.stdout))
    except subprocess.TimeoutExpired:
        return Outcome(lock, failed=f"no answer within {_WITHIN_S} s")
    except ValueError:
        said = ended.stderr.strip().splitlines() or ["pip-audit said nothing"]
        return Outcome(lock, failed=said[-1][:300])


def page(outcomes: Iterable[Outcome], day: str) -> str:
    """The page of the outcomes. day: the date on it."""
    lines = [
        "# Known vulnerabilities of the pinned packages",
        "",
        f"What `make audit` was told on {day}:",
        "",
    ]
    for outcome in outcomes:
        lines.append(f"- {outcome.line}")
        lines += [f"  - {one}" for one in outcome.vulnerable]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    target, *locks = arguments
    outcomes = [audited(lock) for lock in locks]
    text = page(outcomes, datetime.now(UTC).strftime("%Y-%m-%d"))
    sys.stdout.write(text)
    Path(target).write_text(text)
    codes = {outcome.code for outcome in outcomes}
    return VULNERABLE if VULNERABLE in codes else max(codes, default=UNKNOWN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
