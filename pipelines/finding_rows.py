"""Findings of the check as rows of bronze.findings and gold.findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.rule import Finding, Subject

_UNSTARTABLE = frozenset(rule.id for rule in RULES_BY_ID.values() if rule.keeps_from_starting)
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
    """The subjects of a finding as JSON, in the form that its rows have."""
    shown = [subject._asdict() for subject in subjects]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def unstartable_nodes(
    captures: Sequence[Mapping[str, Any]], found: Iterable[Mapping[str, Any]]
) -> dict[int, str]:
    """The nodes that refuse to start with their directories, by node id, each with the rule and the
    message of the finding that says so (see Cluster.unstartable). captures: rows with capture_id
    and node_id. found: rows of bronze.findings or gold.findings."""
    nodes = {row["capture_id"]: row["node_id"] for row in captures}
    rows = [row for row in found if row["capture_id"] in nodes and row["rule"] in _UNSTARTABLE]
    rows.sort(key=lambda row: (row["file"], row["rule"]))
    return {nodes[row["capture_id"]]: f"{row['rule']}: {row['message']}" for row in rows}


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
