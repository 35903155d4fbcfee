"""dbt's sources are what the contracts say; REWRITE_SOURCES=1 writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.own_tables.own_table import READABLE
from tests.dbt.sources import LAYERS, yaml

SOURCES = Path(__file__).parents[2] / "dbt" / "models" / "sources"


@pytest.mark.parametrize("layer", LAYERS)
def test_the_sources_are_the_tables_and_columns_of_the_contracts(layer: str) -> None:
    page = SOURCES / f"{layer}.yml"
    if os.environ.get("REWRITE_SOURCES"):
        page.write_text(yaml(layer), encoding="utf-8")
        pytest.skip("written anew")
    assert page.read_text(encoding="utf-8") == yaml(layer), "REWRITE_SOURCES=1 writes it anew"


def test_they_are_the_tables_that_an_own_table_may_read() -> None:
    names = [table.name for tables in LAYERS.values() for table in tables]
    assert sorted(names) == sorted(READABLE)
    assert {f"{layer}.yml" for layer in LAYERS} == {page.name for page in SOURCES.iterdir()}
