"""Data Docs as pages: nothing from elsewhere, and no text of a log taken for HTML."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from pipelines.lake import Lake
from pipelines.quality import pages as quality_pages
from pipelines.quality.expectation import IN_SET
from pipelines.quality.suites import SUITES
from pipelines.quality.validation import gx, gxe
from pipelines.quality.verdicts import ExpectationResult, TableResult

_HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one table with a value that is HTML; judged by pandas, the result is of the same form."""
    suite = SUITES["bronze.damage"]
    expected = [one for one in suite.expectations if one.type == IN_SET]
    frame = pd.DataFrame({"kind": ["framing", _HOSTILE]})
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("t")
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": frame})
    kinds = [gxe.ExpectColumnValuesToBeInSet(column="kind", **one.kwargs) for one in expected]
    result = batch.validate(gx.ExpectationSuite(suite.name, expectations=kinds))
    verdicts = tuple(ExpectationResult(one, False, 2, 1, (_HOSTILE,)) for one in expected)
    folder = tmp_path_factory.mktemp("pages") / "_quality"
    folder.mkdir()
    (folder / "bronze.gone.html").write_text("of a run before")
    made = quality_pages.pages(
        [TableResult(suite, 0, verdicts, result)], datetime(2026, 1, 2, tzinfo=UTC)
    )
    Lake(folder.parent).replace_folder(folder.name, made)
    return folder


def test_there_is_a_page_for_each_table_and_an_index(pages: Path) -> None:
    assert sorted(os.listdir(pages)) == ["bronze.damage.html", "index.html"]
    index = (pages / "index.html").read_text(encoding="utf-8")
    assert "2026-01-02 00:00:00 UTC" in index
    assert "warn: kind is one of its known values (1 rows)" in index
    assert re.findall(r'href="([^"]*)"', index) == ["bronze.damage.html"]


def test_the_pages_load_nothing_and_show_text_of_a_log_as_text(pages: Path) -> None:
    for page in pages.iterdir():
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img|iframe)\b|url\(|@import", text), page
        assert all(link.endswith(".html") for link in re.findall(r'(?:href|src)="([^"]*)"', text))
    assert "&lt;script&gt;alert(1)" in (pages / "bronze.damage.html").read_text(encoding="utf-8")
