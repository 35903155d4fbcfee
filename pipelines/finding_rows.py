"""Findings of the check as rows of bronze.findings and gold.findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.rule import Finding, Subject

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


def subjects_text(subjects: Iterable[Subject]) -> str:
    """The subjects of a finding, as the text that its rows have."""
    shown = [subject._asdict() for subject in subjects]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def finding_of(row: Mapping[str, Any]) -> Finding:
    """The finding of a row of bronze.findings or gold.findings. Raises KeyError for a rule that
    this release doesn't know, which RULES_BY_ID lacks."""
    subjects = (
        Subject(one["name"], one["what"], one.get("offset"))
        for one in json.loads(row.get("subjects") or "[]")
    )
    return Finding(
        RULES_BY_ID[row["rule"]],
        row["file"],
        row["message"],
        row.get("position"),
        row.get("offset"),
        row.get("epoch"),
        tuple(subjects),
    )
