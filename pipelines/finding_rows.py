"""Findings of the check as rows of bronze.findings and gold.findings."""

from __future__ import annotations

from typing import Any

from replica.check.rule import Finding

FINDING = ("rule", "severity", "file", "position", "offset", "epoch", "message")


def finding_row(found: Finding) -> dict[str, Any]:
    """The finding as a row with the columns of FINDING."""
    return {
        "rule": found.rule.id,
        "severity": found.severity.value,
        "file": found.file,
        "position": found.position,
        "offset": found.offset,
        "epoch": found.epoch,
        "message": found.message,
    }
