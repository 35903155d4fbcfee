"""Offsets of a stream of kraft_captures where paths come and go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pipelines.sources.kraft_captures import CapturesStreamReader, Offset


def rows(stream: CapturesStreamReader, start: Offset, end: Offset) -> list[Any]:
    stored = json.loads(json.dumps(start)), json.loads(json.dumps(end))  # as in a checkpoint
    return [row for part in stream.partitions(*stored) for row in stream.read(part)]


def test_a_path_that_vanishes_is_a_row_and_the_stream_goes_on(data: Path, tmp_path: Path) -> None:
    for node in ("1", "2"):
        shutil.copytree(data / "kafka-3.7.2-static" / "final" / node, tmp_path / node)
    paths = [str(tmp_path / node) for node in ("1", "2")]
    stream = CapturesStreamReader({"paths": json.dumps(paths)})
    limit = stream.getDefaultReadLimit()
    whole = stream.latestOffset({}, limit)
    assert rows(stream, whole, stream.latestOffset(whole, limit)) == []
    (tmp_path / "1").rename(tmp_path / "away")
    without = stream.latestOffset(whole, limit)
    log = str(tmp_path / "1" / "__cluster_metadata-0")
    assert {row[0] for row in rows(stream, whole, without)} == {paths[0], log}
    assert stream.latestOffset(without, limit) == without
    (tmp_path / "away").rename(tmp_path / "1")
    again = stream.latestOffset(without, limit)
    assert again == whole
    assert log in {row[0] for row in rows(stream, without, again)}
