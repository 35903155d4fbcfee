"""Fixtures of the report's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.report.page import Report, render
from tests.pipelines.report import small_lake
from tests.pipelines.report.pages import Reported, report_of
from tests.pipelines.report.reading import Page, read_page, shortcomings
from tests.pipelines.report.small_lake import Rows


@pytest.fixture
def reported(tmp_path: Path) -> Reported:
    """The report of a lake with these rows, and its page read back."""

    def make(rows: Rows, cluster: str | None = None) -> tuple[Report, Page]:
        report = report_of(small_lake.write_lake(tmp_path / "lake", rows), cluster)
        page = read_page(render(report))
        assert shortcomings(page) == []
        return report, page

    return make
