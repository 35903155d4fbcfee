"""The rules between directories, each provoked: gold.findings says what `kraftlake check` says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs.cli.commands.directories import CheckOptions
from jobs.cli.directories.check import run as check
from pipelines.delta import read
from pipelines.tables import gold
from replica.doctor.check.catalogue import groups
from replica.doctor.check.rule import rules_of
from tests.pipelines.gold.conftest import Edited
from tests.pipelines.gold.disagreeing_nodes import LATER_ID, LATEST_ID, RENAMED_ID

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # a lake of their own takes minutes

_COLUMNS = ("rule", "severity", "file", "position", "offset", "epoch", "message")


@pytest.fixture(scope="module")
def nodes(edited: Edited) -> Path:
    return edited.disagreeing


@pytest.fixture(scope="module")
def findings(spark: SparkSession, edited: Edited) -> list[Row]:
    rows = read(spark, edited.lake, gold.FINDINGS)
    rows = rows.where("family = 'files'")
    return rows.where(F.col("file").startswith(f"{edited.disagreeing}/")).collect()


def test_the_table_is_what_check_prints_of_the_same_directories(
    nodes: Path, findings: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert check(CheckOptions([str(nodes)], json_output=True)) == 1
    *lines, _ = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    of_files = [line for line in lines if line.get("family") == "files"]
    expected = Counter(tuple(line[name] for name in _COLUMNS) for line in of_files)
    assert Counter(tuple(row[name] for name in _COLUMNS) for row in findings) == expected


def test_every_rule_between_directories_is_among_them(findings: list[Row]) -> None:
    told_by_large_groups_alone = {groups.GROUP_TOO_LARGE.id}
    in_test_verdicts = {
        groups.STALE_VOTER.id, groups.VOTER_WITHOUT_OWN_DISK.id, groups.CLUSTER_IDS_DIFFER.id,
    }  # fmt: skip
    of_formatted = {groups.VOTER_DISK_EMPTY.id}  # in tests/jobs/test_voters_without_a_log.py
    of_several_captures = {groups.REPLICA_WENT_BACK.id}  # in tests/jobs/test_went_back.py
    others = told_by_large_groups_alone | in_test_verdicts | of_several_captures | of_formatted
    rules = {rule.id for rule in rules_of(groups)} - others
    assert rules <= {row.rule for row in findings}


def test_a_finding_is_of_the_replica_in_whose_directory_its_file_lies(
    findings: list[Row], nodes: Path
) -> None:
    names = {rule.id for rule in rules_of(groups)}
    found = {
        (row.rule, Path(row.file).relative_to(nodes).parts[1], row.node_id, row.cluster_id)
        for row in findings
        if row.rule in names
    }
    assert ("two-leaders", "3", 3, LATEST_ID) in found
    assert ("cluster-id-mismatch", "11", 11, RENAMED_ID) in found
    assert all(int(folder.split("-")[0]) == node_id for _, folder, node_id, _ in found)


def test_a_snapshot_behind_a_record_of_a_later_kafka_is_unverifiable(
    spark: SparkSession, edited: Edited, findings: list[Row]
) -> None:
    rows = read(spark, edited.lake, gold.SNAPSHOT_VALIDITY).where(f"cluster_id = '{LATER_ID}'")
    assert {row.end_offset: row.verdict for row in rows.collect()} == {
        519: "valid",
        1913: "unverifiable",
    }
    mine = [row for row in findings if row.cluster_id == LATER_ID]
    assert {"unknown-record-type", "snapshot-not-known"} <= {row.rule for row in mine}
    assert "unappliable-record" not in {row.rule for row in mine}
