"""Collects the marks `scenario` and the results of their tests, for the table of scenarios.

A mark with an unknown id ends the run before it begins. The test of the table runs last.
"""

from __future__ import annotations

import pytest

from tests.scenarios.catalogue import catalogue
from tests.scenarios.coverage import Run, unknown

RUN = pytest.StashKey[Run]()
LAST = "test_scenarios.py"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUN] = Run()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marks = config.stash[RUN].marks
    for item in items:
        ids = {scenario for mark in item.iter_markers("scenario") for scenario in mark.args}
        if ids:
            test = test_of(item.nodeid)
            marks[test] = marks.get(test, frozenset()) | ids
    wrong = unknown(marks, catalogue())
    if wrong:
        raise pytest.UsageError("\n".join(wrong))
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report: pytest.TestReport = yield
    run = item.config.stash[RUN]
    if report.when == "call" and report.passed:
        run.passed.add(test_of(item.nodeid))
    elif not report.passed:
        run.failed.add(test_of(item.nodeid))
    return report


def test_of(nodeid: str) -> str:
    """The function's name in a node id, without the case."""
    return nodeid.partition("[")[0]
