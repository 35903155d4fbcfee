"""Reports of small lakes, and rows that several tests of the page use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.cli.sharing.report import source
from pipelines.lake import Lake
from pipelines.report.gathering import make_report
from pipelines.report.page import Report
from tests.pipelines.report.reading import Page
from tests.pipelines.report.small_lake import CLUSTER, at

GENERATED = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
Reported = Callable[..., tuple[Report, Page]]


def report_of(lake: Path, cluster: str | None = None) -> Report:
    return make_report(source(Lake(lake)), cluster=cluster, version="9.9", generated_at=GENERATED)


def change(kind: str, offset: int, **more: Any) -> dict[str, Any]:
    """A row of gold.metadata_changes: a change of that type."""
    told = {"entity": "topic", "key": "k", "name": "orders", "new": '{"a":1}'}
    record = {"offset": offset, "at": at(offset), "record_type": "TOPIC_RECORD"}
    return {
        "cluster_id": CLUSTER,
        "change": kind,
        **told,
        **record,
        "commitment": "proven",
    } | more
