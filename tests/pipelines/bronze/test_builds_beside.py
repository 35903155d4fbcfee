"""A build beside an ingest reads tables of bronze that belong together."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.bronze import ingest as passes
from pipelines.build import build
from pipelines.lake import Lake
from pipelines.runners.local import LocalRunner
from pipelines.tables import gold
from tests.pipelines.lake_rows import rows, rows_of

WAITS_S = 60


@pytest.mark.slow
def test_a_build_sees_no_round_of_which_only_some_tables_are_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins when the records of the second capture are in the lake, and the batches aren't."""
    lake, node = tmp_path / "lake", data / "kafka-4.1.1-dynamic"
    first, second = (
        IngestOptions([str(node / name / "1")], Lake(lake), captured_at=f"2026-11-21T0{hour}:00Z")
        for hour, name in enumerate(("split", "final"))
    )
    assert ingest.run(first) == 0
    has_begun, is_at_the_end = threading.Event(), threading.Event()
    builder = threading.Thread(target=lambda: _build(Lake(lake), has_begun, is_at_the_end))
    write_batches = passes._Pass._batches

    def late(one: passes._Pass) -> None:
        builder.start()
        assert has_begun.wait(WAITS_S)
        write_batches(one)

    monkeypatch.setattr(passes._Pass, "_batches", late)
    assert ingest.run(second) == 0
    builder.join(WAITS_S)

    assert is_at_the_end.is_set()
    assert rows_of(lake, gold.QUALITY_RESULTS, "NOT success") == []
    (committed,) = rows(lake, 'SELECT max("offset") AS last FROM silver.committed_log')
    assert committed.last == 3671


def _build(lake: Lake, has_begun: threading.Event, is_at_the_end: threading.Event) -> None:
    """Tells of its first line: that it waits, or what it derives."""
    with LocalRunner() as runner:
        build(lake, runner, lambda _: has_begun.set())
    is_at_the_end.set()
