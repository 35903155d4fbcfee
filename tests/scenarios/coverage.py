"""Which tests show which scenarios: what a run of pytest found, and the table COVERAGE.md.

A test is a function (file::name, from the root of the repository); its cases count together.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.scenarios.catalogue import Catalogue, Group, Scenario, scenarios

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("COVERAGE.md")
REWRITE = "REWRITE_SCENARIOS=1 .venv/bin/python -m pytest"

Shown = Mapping[str, frozenset[str]]
"""Scenario id -> the tests that show it."""

_ROW = re.compile(r"^\| ([A-Z]\d\d) \|")
_TEST = re.compile(r"`([\w./]+\.py::[\w.:]+)`")


@dataclass
class Run:
    """The result of a run of pytest. marks: scenario ids by test. passed, failed: tests with at
    least one case that passed or failed; a skipped case didn't pass."""

    marks: dict[str, frozenset[str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    @property
    def tests(self) -> set[str]:
        """All tests that ran."""
        return self.passed | self.failed

    def shown(self) -> Shown:
        found: dict[str, set[str]] = defaultdict(set)
        for test in self.passed - self.failed:
            for scenario_id in self.marks.get(test, ()):
                found[scenario_id].add(test)
        return {scenario_id: frozenset(tests) for scenario_id, tests in found.items()}


def after(table: Shown, run: Run) -> Shown:
    """The table after a run: for the tests that ran, what passed now; for other tests, what the
    table says and still exists."""
    found: dict[str, set[str]] = defaultdict(set)
    for scenario_id, tests in table.items():
        found[scenario_id] |= {test for test in tests - run.tests if exists(test)}
    for scenario_id, tests in run.shown().items():
        found[scenario_id] |= tests
    return {scenario_id: frozenset(tests) for scenario_id, tests in found.items() if tests}


def exists(test: str, root: Path = ROOT) -> bool:
    """Whether a test of this name is in its file."""
    file, _, name = test.partition("::")
    return name.rpartition("::")[2] in _functions(root / file)


@cache
def _functions(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def unknown(marks: Mapping[str, Iterable[str]], groups: Catalogue) -> list[str]:
    """A line for each mark of an id that the catalogue lacks, or has as not applicable."""
    known = scenarios(groups)
    found = []
    for test, ids in sorted(marks.items()):
        for scenario_id in sorted(ids):
            scenario = known.get(scenario_id)
            if scenario is None:
                found.append(f"{test}: scenario {scenario_id} is not in tests/scenarios")
            elif scenario.not_applicable:
                found.append(
                    f"{test}: scenario {scenario_id} is not applicable, says the catalogue"
                )
    return found


def missing(table: Shown, groups: Catalogue) -> list[str]:
    """A line for each scenario whose state contradicts the table: due and not shown, or the
    reverse."""
    found = []
    for scenario in scenarios(groups).values():
        if scenario.is_due and scenario.id not in table:
            found.append(f"{scenario.id}: no test shows it: {scenario.what}")
        if scenario.pending and scenario.id in table:
            found.append(f"{scenario.id}: shown by a test: no longer pending in catalogue.toml")
    return found


def parse(text: str) -> Shown:
    """The content of a table."""
    rows = {match[1]: line for line in text.splitlines() if (match := _ROW.match(line))}
    found = {scenario_id: frozenset(_TEST.findall(line)) for scenario_id, line in rows.items()}
    return {scenario_id: tests for scenario_id, tests in found.items() if tests}


def render(table: Shown, groups: Catalogue) -> str:
    """The table as Markdown, with the numbers first."""
    known = scenarios(groups).values()
    absent = [scenario for scenario in known if scenario.not_applicable]
    pending = [scenario for scenario in known if scenario.pending]
    lines = [
        "# Scenarios of Kafka's own tests, and the tests here that show them",
        "",
        f"{len(known)} scenarios: {len(table)} shown, {len(absent)} not applicable, "
        f"{len(pending)} pending. Made by the tests that ran; to make it again:",
        f"`{REWRITE}`, or with the files whose marks changed.",
    ]
    for group in groups.values():
        lines += ["", *_section(group, table)]
    return "\n".join(lines) + "\n"


def _section(group: Group, table: Shown) -> list[str]:
    return [
        f"## {group.letter}. {group.title}",
        "",
        "| id | what | from | shown by |",
        "|---|---|---|---|",
        *(_row(scenario, table.get(scenario.id, ())) for scenario in group.scenarios),
    ]


def _row(scenario: Scenario, tests: Iterable[str]) -> str:
    shown = ", ".join(f"`{test}`" for test in sorted(tests))
    if scenario.not_applicable:
        shown = f"not applicable: {scenario.not_applicable}"
    elif scenario.pending and not shown:
        shown = f"pending: {scenario.pending}"
    return f"| {scenario.id} | {scenario.what} | {scenario.source} | {shown} |"
