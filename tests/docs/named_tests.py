"""Tests and rules that a row of a table names: `tests/a/test_b.py::test_c`. The folder may be left
out where it is the folder of the test before."""

from __future__ import annotations

import re

from tests.kraftlake_process import REPOSITORY

_NAMED = re.compile(r"`(?:(?P<folder>tests/[\w/]+)/)?(?P<file>\w+\.py)(?:::(?P<name>\w+))?`")


def missing(row: str) -> list[str] | None:
    """The named tests that don't exist; None where the row names no test."""
    found, folder = list(_NAMED.finditer(row)), ""
    absent = []
    for each in found:
        folder = each["folder"] or folder
        path = REPOSITORY / folder / each["file"]
        named = each["name"]
        if not path.is_file() or (named and f"def {named}(" not in path.read_text("utf-8")):
            absent.append(each[0])
    return absent if found else None
