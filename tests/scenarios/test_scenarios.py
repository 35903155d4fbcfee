"""COVERAGE.md says which tests show a scenario of Kafka's; REWRITE_SCENARIOS=1 writes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.scenarios import coverage
from tests.scenarios.catalogue import Group, Scenario, catalogue, scenarios
from tests.scenarios.coverage import Run, after, exists, missing, parse, render, unknown
from tests.scenarios.plugin import RUN

MOST_NOT_APPLICABLE = 40
HERE = "tests/scenarios/test_scenarios.py"
GROUPS = {
    "A": Group(
        "A",
        "Some",
        (
            Scenario("A01", "SomeTest", "one | two"),
            Scenario("A02", "SomeTest", "another", not_applicable="no such thing"),
            Scenario("A03", "SomeTest", "a third", pending="the next work"),
        ),
    )
}


def test_the_table_is_what_the_tests_that_ran_have_shown(request: pytest.FixtureRequest) -> None:
    """Of a run of all tests, or of a part: then the rest stays as it was."""
    table = parse(coverage.FILE.read_text(encoding="utf-8")) if coverage.FILE.exists() else {}
    found = render(after(table, request.config.stash[RUN]), catalogue())
    if os.environ.get("REWRITE_SCENARIOS"):
        coverage.FILE.write_text(found, encoding="utf-8")
    written = coverage.FILE.read_text(encoding="utf-8").splitlines()
    assert found.splitlines() == written, f"tests changed: {coverage.REWRITE}"


def test_every_scenario_is_shown_by_a_test_or_says_why_not() -> None:
    table = parse(coverage.FILE.read_text(encoding="utf-8"))
    lacking = missing(table, catalogue())
    assert not lacking, "\n".join(["", *lacking])
    gone = [test for tests in table.values() for test in tests if not exists(test)]
    assert not gone, "\n".join(["", *gone])


def test_the_catalogue_has_all_groups_in_order_and_few_scenarios_that_are_not_applicable() -> None:
    groups = catalogue()
    assert list(groups) == [*"ABCDEFGHIJKLT"]
    sizes = {"A": 27, "B": 48, "C": 46, "D": 19, "E": 29, "F": 22, "G": 38, "H": 39, "I": 14}
    sizes |= {"J": 19, "K": 38, "L": 16, "T": 20}
    for letter, group in groups.items():
        ids = [scenario.id for scenario in group.scenarios]
        assert ids == [f"{letter}{number:02}" for number in range(1, sizes[letter] + 1)]
    known = scenarios(groups)
    assert all(source in known for t in groups["T"].scenarios for source in t.source.split(", "))
    absent = [scenario for scenario in known.values() if scenario.not_applicable]
    assert len(absent) <= MOST_NOT_APPLICABLE


def test_a_pitfall_is_shown_by_a_test_of_each_scenario_it_is_about() -> None:
    """Or of what those say together, in one test of its own."""
    table = parse(coverage.FILE.read_text(encoding="utf-8"))
    for pitfall in catalogue()["T"].scenarios:
        tests = table.get(pitfall.id, frozenset())
        for source in pitfall.source.split(", "):
            assert pitfall.pending or tests & table[source], f"{pitfall.id} lacks {source}"


class TestTheChecksThemselves:
    """Each must be able to fail."""

    def test_a_table_comes_back_as_it_was_written(self) -> None:
        table = {"A01": frozenset({"tests/a.py::test_b", "tests/a.py::TestC::test_d"})}
        text = render(table, GROUPS)
        assert parse(text) == table
        assert "3 scenarios: 1 shown, 1 not applicable, 1 pending." in text
        assert "| A02 | another | SomeTest | not applicable: no such thing |" in text
        assert "| A03 | a third | SomeTest | pending: the next work |" in text

    def test_a_scenario_without_a_test_is_missing_and_a_pending_one_with_a_test_is_not(
        self,
    ) -> None:
        assert missing({"A01": frozenset({"t"})}, GROUPS) == []
        assert missing({}, GROUPS) == ["A01: no test shows it: one | two"]
        both = {"A01": frozenset({"t"}), "A03": frozenset({"t"})}
        (line,) = missing(both, GROUPS)
        assert line.startswith("A03: shown by a test")

    def test_marks_of_unknown_and_of_inapplicable_scenarios_are_told(self) -> None:
        lines = unknown({"t.py::test_x": {"A01", "A02", "A99"}}, GROUPS)
        assert [line.split(": ")[1].split(" is ")[0] for line in lines] == [
            "scenario A02",
            "scenario A99",
        ]

    def test_a_run_replaces_what_is_known_of_the_tests_that_ran(self) -> None:
        here = f"{HERE}::test_every_scenario_is_shown_by_a_test_or_says_why_not"
        other = f"{HERE}::test_a_pitfall_is_shown_by_a_test_of_each_scenario_it_is_about"
        table = {"A01": frozenset({here, other, f"{HERE}::test_of_old", "tests/gone.py::test_x"})}
        untouched = after(table, Run())
        assert untouched == {"A01": {here, other}}
        passed = Run(marks={here: frozenset({"A03"})}, passed={here})
        assert after(table, passed) == {"A01": {other}, "A03": {here}}
        failed = Run(marks={here: frozenset({"A01"})}, passed={here}, failed={here})
        assert after(table, failed) == {"A01": {other}}

    def test_a_test_exists_where_its_file_has_a_function_of_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "test_a.py").write_text("class TestB:\n    def test_c(self): ...\n")
        assert exists("test_a.py::TestB::test_c", tmp_path)
        assert not exists("test_a.py::test_d", tmp_path)
        assert not exists("test_b.py::test_c", tmp_path)


@pytest.mark.parametrize("mark", ["A01", "Z99"])
def test_a_run_with_an_unknown_mark_ends_before_it_begins(
    mark: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(coverage.FILE.parents[2]))
    pytester.makeini("[pytest]\nmarkers = scenario(ids): catalogue ids\n")
    pytester.makepyfile(f"import pytest\n@pytest.mark.scenario({mark!r})\ndef test_x(): pass\n")
    result = pytester.runpytest_subprocess("-p", "tests.scenarios.plugin", "-p", "no:cacheprovider")
    if mark == "A01":
        result.assert_outcomes(passed=1)
    else:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*scenario Z99 is not in tests/scenarios*"])
