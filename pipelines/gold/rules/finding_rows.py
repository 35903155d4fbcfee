"""Findings of the check as rows of gold.findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from replica.check.rule import Finding

FINDING = (
    *((name, pa.string()) for name in ("rule", "severity", "file")),
    *((name, pa.int64()) for name in ("position", "offset")),
    ("epoch", pa.int32()),
    ("message", pa.string()),
)
PLACED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("node_id", pa.int32()),
        ("directory_id", pa.string()),
        ("capture_id", pa.string()),
        *FINDING,
    ]
)
"""A row of gold.findings; `file` as the user names it."""


def finding_row(found: Finding) -> dict[str, Any]:
    """The columns of FINDING."""
    return {
        "rule": found.rule.id,
        "severity": found.severity.value,
        "file": found.file,
        "position": found.position,
        "offset": found.offset,
        "epoch": found.epoch,
        "message": found.message,
    }


def placed(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows of PLACED as a worker hands them back."""
    return pa.Table.from_pylist(list(rows), schema=PLACED)
