"""A journey of 100,000 changes in a real browser: soon there, and smooth from step to step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.report.page import render
from tests.pipelines.report import small_lake
from tests.pipelines.report.chromium import EXECUTABLE, browser
from tests.pipelines.report.incidents import split
from tests.pipelines.report.journeys import partition, version
from tests.pipelines.report.pages import change, report_of
from tests.pipelines.report.small_lake import CLUSTER, Rows, at, together

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXECUTABLE.exists(), reason=f"no {EXECUTABLE}"),
]
CHANGES, PARTITIONS = 99_000, 9_000
_STATES = [(11, [11, 12]), (12, [12]), (-1, [12]), (12, [11, 12])]
_MEASURED = """async () => {
  const range = document.querySelector("[data-part=range]"), last = Number(range.max);
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const timed = async (step) => {
    const start = performance.now();
    range.value = step;
    range.dispatchEvent(new Event("input"));
    await frame();
    return performance.now() - start;
  };
  const middle = (found) => found.sort((a, b) => a - b)[found.length >> 1];
  const steps = [], jumps = [];
  for (let one = 0; one < 40; one++) steps.push(await timed((last >> 1) + one));
  for (let one = 0; one < 20; one++) jumps.push(await timed(one % 2 ? last : 0));
  const loaded = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
  return { last, loaded, step: middle(steps), jump: middle(jumps) };
}"""


def _rows() -> Rows:
    """Each partition is created, and then goes from leader to leader."""
    history: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    newest: dict[int, dict[str, Any]] = {}
    for topic in range(PARTITIONS // 10):
        value = {"name": f"t{topic}", "topicId": f"T{topic}"}
        history.append(version("topic", f"T{topic}", f"t{topic}", value, (20, None)))
    for number in range(CHANGES):
        which, times = number % PARTITIONS, number // PARTITIONS
        topic, place, offset = which // 10, which % 10, 21 + number
        leader, isr = _STATES[times % len(_STATES)]
        value = partition(leader, isr, place, topicId=f"T{topic}")
        told = {"entity": "partition", "key": f"T{topic}:{place}", "name": f"t{topic}-{place}"}
        row = version(*told.values(), value, (offset, None))
        if which in newest:
            newest[which] |= {"valid_to_offset": offset, "valid_to": at(offset)}
        newest[which] = row
        history.append(row)
        kind, new = ("leader_changed", str(leader)) if times else ("partition_created", value)
        changes.append(change(kind, offset, **told, new=json.dumps(new)))
    known = [{"cluster_id": CLUSTER, "from_offset": 0, "to_offset": 21 + CHANGES}]
    tables: Rows = {"gold.metadata_history": [*history], "gold.state_ranges": [*known]}
    return together(split(), tables, {"gold.metadata_changes": [*changes]})


def test_a_hundred_thousand_changes_are_there_soon_and_gone_through_smoothly(
    tmp_path: Path,
) -> None:
    page = tmp_path / "report.html"
    report = report_of(small_lake.write_lake(tmp_path / "lake", _rows()))
    text = render(report)
    assert "Sampled" not in text
    page.write_text(text, encoding="utf-8")
    assert page.stat().st_size < 8_000_000
    with browser() as launched, launched.page(page) as opened:
        told = opened.value(_MEASURED)
    assert told["last"] >= CHANGES
    assert told["loaded"] < 6000, told
    assert told["step"] < 200, told
    assert told["jump"] < 200, told
