"""A leader's disk that was restored within its epoch, or that lost its newest records."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.replica.doctor.check.editing import batches, judged

FINAL = Path(__file__).parents[3] / "data" / "kafka-4.1.1-dynamic" / "final"
RULE = "leader-lacks-own-records"
LEADER = 3


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    return [
        Path(shutil.copytree(FINAL / str(node_id), tmp_path / str(node_id)))
        for node_id in (1, 2, 3)
    ]


def cut(node: Path, lacking_ms: int) -> int:
    """Let the log end so much before its end. Returns its new end (exclusive)."""
    segments = sorted((node / "__cluster_metadata-0").glob("*.log"))
    end_ms = batches(segments[-1])[-1].header.max_timestamp - lacking_ms
    for segment in reversed(segments):
        for index in segment.parent.glob(f"{segment.stem}.*index"):
            index.unlink()
        kept = [one for one in batches(segment) if one.header.max_timestamp <= end_ms]
        if kept:
            size = kept[-1].position + kept[-1].header.size_bytes
            segment.write_bytes(segment.read_bytes()[:size])
            return kept[-1].header.next_offset
        segment.unlink()
    raise AssertionError("the log is longer than that")


def test_the_leader_s_shorter_log_is_told_and_a_follower_s_is_not(nodes: list[Path]) -> None:
    follower = judged(*nodes)
    assert RULE not in {one.rule.id for one in follower.findings}
    cut(nodes[0], 20_000)
    assert RULE not in {one.rule.id for one in judged(*nodes).findings}
    end = cut(nodes[LEADER - 1], 20_000)
    (found,) = [one for one in judged(*nodes).findings if one.rule.id == RULE]
    assert f"its own log goes up to offset {end - 1}" in found.message


def test_some_seconds_of_copying_are_no_finding(nodes: list[Path]) -> None:
    cut(nodes[LEADER - 1], 5_000)
    assert RULE not in {one.rule.id for one in judged(*nodes).findings}
