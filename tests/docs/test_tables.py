"""docs/reference/tables.md is what the contracts say; REWRITE_TABLES=1 writes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.tables_page import markdown

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"


def test_the_table_reference_is_what_the_contracts_say() -> None:
    if os.environ.get("REWRITE_TABLES"):
        PAGE.write_text(markdown(), encoding="utf-8")
        pytest.skip("written anew")
    assert PAGE.read_text(encoding="utf-8") == markdown(), "REWRITE_TABLES=1 writes it anew"
