"""The verdicts of a lake, and those of `check` on the same directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobs.cli.asking.sql_delta_rs import named_rows
from pipelines.lake import Lake
from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.format.discovery import discover
from tests.jobs.conftest import Kraftlake

SPLIT = "kafka-4.1.1-dynamic/split"


def lake_of(kraftlake: Kraftlake, place: Path, *nodes: Path) -> Path:
    """A lake of these directories, which one ingest brought in."""
    assert kraftlake("ingest", "--lake", place, *nodes).code in (0, 1)
    built = kraftlake("build", "--lake", place)
    assert built.code == 0, built.err
    return place


def rows(lake: Path, query: str) -> list[dict[str, Any]]:
    return [*named_rows(Lake(str(lake)), query)]


def verdicts_by_check(*nodes: Path) -> list[Verdict]:
    group = [examine(found) for found in discover([*map(str, nodes)])]
    return [
        verdict_on(evidence_of(one)) for one in clusters_of(judge_group(group, newest=True), {})
    ]


def verdict_by_check(*nodes: Path) -> Verdict:
    (verdict,) = verdicts_by_check(*nodes)
    return verdict


def row_of(lake: Path) -> dict[str, Any]:
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    return row
