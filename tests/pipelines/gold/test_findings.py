"""gold.findings and gold.snapshot_validity say what `kraftlake check` says of the directories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.tables import bronze, gold
from replica.doctor.check.catalogue import groups
from replica.doctor.check.group import JudgedDirectory
from replica.doctor.check.rule import Finding
from replica.doctor.health.judging import judge_health
from replica.doctor.health.of_directories import cluster_of
from tests.pipelines.lake_rows import rows_of
from tests.replica.doctor.check.editing import judged

DYNAMIC = "kafka-4.1.1-dynamic"
CAPTURES = [
    (cluster, capture)
    for cluster in ("kafka-3.7.2-static", DYNAMIC)
    for capture in ("live", "split", "final")
]

_Told = tuple[str, str, str, int | None, int | None, int | None, str]


@pytest.fixture(scope="module")
def findings(built_lake: Path) -> list[Any]:
    """Those about files."""
    return rows_of(built_lake, gold.FINDINGS, "family = 'files'")


@pytest.mark.parametrize("cluster", ["kafka-3.7.2-static", DYNAMIC])
def test_health_is_what_check_says_of_the_newest_capture(
    data: Path, built_lake: Path, cluster: str
) -> None:
    (told,) = judged(data / cluster / "final", newest=True).states
    state = cluster_of(told, {})
    assert state is not None
    expected = {
        (one.rule.id, one.severity.value, one.message, *map(tuple, sorted(one.subjects)[:100]))
        for one in judge_health(state)
    }
    rows = rows_of(built_lake, gold.FINDINGS, "family = 'health'")
    found = {
        (row.rule, row.severity, row.message, *_subjects(row))
        for row in rows
        if f"/{cluster}/final/" in row.file
    }
    assert found == expected
    assert all(f"/{DYNAMIC}/final/" in row.file for row in rows)  # the other one is healthy


def _subjects(row: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(subject.values()) for subject in json.loads(row.subjects))


@pytest.fixture(scope="module")
def validity(built_lake: Path) -> list[Any]:
    return rows_of(built_lake, gold.SNAPSHOT_VALIDITY)


@pytest.fixture(scope="module")
def sources(built_lake: Path) -> dict[str, str]:
    """The directory that a capture_id was first ingested from."""
    rows = sorted(rows_of(built_lake, bronze.CAPTURES), key=lambda row: row.ingest_seq)
    return {row.capture_id: row.source for row in reversed(rows)}


def _row_told(row: Any) -> _Told:
    return row.rule, row.severity, row.file, row.position, row.offset, row.epoch, row.message


def _told(finding: Finding, file: str) -> _Told:
    place = finding.position, finding.offset, finding.epoch
    return finding.rule.id, finding.severity.value, file, *place, finding.message


def _directory(member: JudgedDirectory) -> str:
    return member.examined.shown


@pytest.mark.parametrize(("cluster", "capture"), CAPTURES)
def test_findings_are_those_of_check_on_the_same_directories(
    data: Path, findings: list[Any], sources: dict[str, str], cluster: str, capture: str
) -> None:
    group = judged(data / cluster / capture)
    first_seen = [member for member in group.members if _directory(member) in sources.values()]
    expected = [
        _told(finding, member.examined.shown_file(finding.file))
        for member in first_seen
        for finding in member.findings
    ]
    expected += [
        _told(finding, finding.file)
        for finding in group.findings
        if finding.rule is not groups.VOTER_BEHIND  # the lake judges the voters of newer captures
    ]
    mine = [row for row in findings if f"/{cluster}/{capture}/" in row.file]
    assert first_seen
    assert sorted(map(_row_told, mine), key=str) == sorted(expected, key=str)


def test_only_the_splits_have_findings_above_info(findings: list[Any]) -> None:
    bad = [row for row in findings if row.severity != "info"]
    assert {row.rule for row in bad} == {"log-divergence"}
    assert all("/split/" in row.file for row in bad)
    assert sorted(row.node_id for row in bad) == [2, 2, 11, 11]


def test_every_snapshot_of_kafka_is_valid_as_check_says(
    data: Path, validity: list[Any], sources: dict[str, str]
) -> None:
    expected = {
        (_directory(member), verdict.id.offset, verdict.id.epoch): verdict.validity.value
        for cluster, capture in CAPTURES
        for member in judged(data / cluster / capture).members
        for verdict in member.verdicts
        if _directory(member) in sources.values()
    }
    found = {(sources[row.capture_id], row.end_offset, row.epoch): row.verdict for row in validity}
    assert found == expected
    assert len(found) > 30
    assert set(found.values()) == {"valid"}
    assert all(row.broken_rules == [] for row in validity)


def test_orphan_topic_configs_are_notes_with_their_count(validity: list[Any]) -> None:
    found = {
        (row.end_offset, row.epoch): int(note["message"].split()[0])
        for row in validity
        for note in row.notes
        if note["rule"] == "orphan-topic-configs"
    }
    assert found == {(1496, 5): 8, (2571, 6): 12, (2598, 6): 12}
