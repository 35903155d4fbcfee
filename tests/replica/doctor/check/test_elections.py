"""Leaders that follow one another and change nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replica.doctor.check.elections import ENDLESS_LEADERS, MAX_REIGN_MS
from replica.doctor.check.rule import Finding
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Level
from tests.replica.doctor.check.editing import (
    append,
    append_leader_change,
    findings,
    judged,
    metadata,
    segment,
)
from tests.replica.doctor.check.first_start import start

NO_OP = metadata("NO_OP_RECORD")
RULE = "endless-elections"


@pytest.fixture
def log(data: Path, tmp_path: Path) -> Path:
    """The log of a node, to which a test appends."""
    node = tmp_path / "1"
    shutil.copytree(data / "kafka-4.1.1-dynamic/live/1", node)
    path = segment(node, 1262)
    return path


def elect(log: Path, leaders: int, *, first: int = 50, later_ms: int = 2_000) -> None:
    """Leaders one after another, each of which appends a NoOpRecord."""
    for epoch in range(first, first + leaders):
        append_leader_change(log, epoch, epoch % 3 + 1)
        append(log, NO_OP, later_ms=later_ms)


def endless(log: Path) -> list[Finding]:
    node = log.parent.parent
    return [one for one in findings(node) if one.rule.id == RULE]


def test_leaders_that_change_nothing_are_one_finding(log: Path) -> None:
    elect(log, ENDLESS_LEADERS)
    (found,) = endless(log)
    assert found.message == (
        "5 leaders within 10 s, epochs 50 to 54, and none of them changed the metadata"
    )
    assert found.epoch == 50


def test_a_few_elections_are_none(log: Path) -> None:
    elect(log, ENDLESS_LEADERS - 1)
    assert not endless(log)


def test_a_change_ends_the_row_of_leaders(log: Path) -> None:
    elect(log, ENDLESS_LEADERS - 1)
    append(log, metadata("FEATURE_LEVEL_RECORD", name="x", featureLevel=1))
    elect(log, ENDLESS_LEADERS - 1, first=60)
    assert not endless(log)


def test_a_leader_that_lasts_has_ended_it(log: Path) -> None:
    elect(log, 2 * ENDLESS_LEADERS)
    assert endless(log)
    for _ in range(4):
        append(log, NO_OP, later_ms=MAX_REIGN_MS // 3)
    assert not endless(log), "the newest leader has led for longer"


def test_a_leader_that_lasted_before_them_is_not_counted(log: Path) -> None:
    elect(log, 3, later_ms=MAX_REIGN_MS + 1)
    elect(log, ENDLESS_LEADERS, first=60)
    (found,) = endless(log)
    assert found.epoch == 60


def test_what_lies_behind_a_damaged_batch_is_not_counted(log: Path) -> None:
    elect(log, ENDLESS_LEADERS - 1)
    place = append(log, NO_OP)
    elect(log, ENDLESS_LEADERS - 1, first=60)
    raw = bytearray(log.read_bytes())
    raw[place + 61] ^= 1
    log.write_bytes(bytes(raw))
    assert not endless(log)


def test_a_log_without_a_batch_has_no_finding(tmp_path: Path) -> None:
    node = start(tmp_path / "1", 1)
    assert not [one for one in findings(node) if one.rule.id == RULE]


def test_leaders_that_changed_nothing_are_over_where_another_log_shows_what_came_after(
    data: Path, tmp_path: Path
) -> None:
    """The node was down since, and its log ends where it stopped. A verdict by its finding would be
    an outage."""
    for node in ("1", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/live" / node, tmp_path / node)
        elect(segment(tmp_path / node, 1262), ENDLESS_LEADERS)
    assert [RULE in one for one in _rules_of(tmp_path)] == [True, True]
    assert _level(tmp_path) is Level.OUTAGE
    append(
        segment(tmp_path / "3", 1262), metadata("FEATURE_LEVEL_RECORD", name="x", featureLevel=1)
    )
    first, third = _rules_of(tmp_path)
    assert RULE not in first | third
    assert "epoch-churn" in first
    assert _level(tmp_path) is not Level.OUTAGE


def _rules_of(*nodes: Path) -> list[set[str]]:
    return [{one.rule.id for one in member.findings} for member in judged(*nodes).members]


def _level(*nodes: Path) -> Level:
    (cluster,) = clusters_of(judged(*nodes, newest=True), {})
    return verdict_on(evidence_of(cluster)).level
