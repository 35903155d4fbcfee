"""One ingest of many captures makes the tables that an ingest of each makes, oldest first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.lake import Lake
from tests.fuzz.ingest_kills import tables

CLUSTERS = {"kafka-3.7.2-static": "1", "kafka-4.1.1-dynamic": "2"}


def captured(recorded: Path, folder: Path) -> list[str]:
    """Captures of two clusters, oldest first, those of one hour after the other."""
    paths = []
    for hour, name in enumerate(("live", "split", "final")):
        for minute, (cluster, node) in enumerate(CLUSTERS.items()):
            place = folder / f"{name}-{node}"
            shutil.copytree(recorded / cluster / name / node, place / node)
            at = f"2026-11-21T0{hour}:1{minute}:00.000Z"
            (place / "capture.json").write_text(json.dumps({"version": 1, "captured_at": at}))
            paths.append(str(place))
    return paths


@pytest.mark.slow  # 10 s; .ci/run runs it behind `make test`
def test_one_ingest_of_all_captures_is_an_ingest_of_each_oldest_first(
    data: Path, tmp_path: Path
) -> None:
    paths = captured(data, tmp_path / "captures")
    at_once, one_by_one = tmp_path / "at_once", tmp_path / "one_by_one"
    for lake in (at_once, one_by_one):
        lake.mkdir()
        (lake / "_redaction.key").write_bytes(b"k" * 32)
    newest_first = paths[::-1]
    assert ingest.run(IngestOptions(newest_first, Lake(at_once))) == 0
    for path in paths:
        assert ingest.run(IngestOptions([path], Lake(one_by_one))) == 0
    found, wanted = tables(at_once), tables(one_by_one)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in wanted.items()
    }
    assert found == wanted
    assert len(wanted["captures"]) == len(paths)
