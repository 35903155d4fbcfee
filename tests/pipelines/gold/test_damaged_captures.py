"""Damaged copies in a lake: the tables name the rule that `kraftlake check` names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines.delta import Lake, read
from pipelines.tables import bronze, gold
from replica.doctor.check.group import JudgedDirectory
from tests.pipelines.gold.conftest import Edited
from tests.pipelines.gold.damaged_nodes import CLUSTER_ID, DAMAGES
from tests.replica.doctor.check.editing import judged

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # a lake of their own takes minutes


@pytest.fixture(scope="module")
def findings(spark: SparkSession, edited: Edited) -> list[Row]:
    rows = read(spark, edited.lake, gold.FINDINGS).where("family = 'files'")
    return rows.where(F.col("cluster_id") == CLUSTER_ID).collect()


@pytest.fixture(scope="module")
def members(edited: Edited) -> dict[int, JudgedDirectory]:
    """What `kraftlake check` says of the copies, by node id."""
    members = judged(edited.damaged).members
    return {one.examined.replica.node_id: one for one in members if one.examined.replica}


@pytest.mark.parametrize("node_id", DAMAGES)
def test_each_damage_gives_the_findings_of_check(
    findings: list[Row], members: dict[int, JudgedDirectory], node_id: int
) -> None:
    _, rules, _ = DAMAGES[node_id]
    found = [row for row in findings if row.node_id == node_id]
    assert {row.rule for row in found if row.severity != "info"} == rules
    member = members[node_id]
    expected = {
        (
            one.rule.id,
            one.severity.value,
            member.examined.shown_file(one.file),
            one.position,
            one.offset,
            one.epoch,
            one.message,
        )
        for one in member.findings
    }
    assert {
        (
            row.rule,
            row.severity,
            row.file,
            row.position,
            row.offset,
            row.epoch,
            row.message,
        )
        for row in found
    } == expected


@pytest.mark.parametrize("node_id", DAMAGES)
def test_each_damaged_snapshot_has_the_verdict_of_check(
    spark: SparkSession, edited: Edited, members: dict[int, JudgedDirectory], node_id: int
) -> None:
    rows = read(spark, edited.lake, gold.SNAPSHOT_VALIDITY).where(f"node_id = {node_id}").collect()
    told = {
        (row.end_offset, row.epoch): (row.verdict, sorted(one.rule for one in row.broken_rules))
        for row in rows
    }
    assert told == {
        (one.id.offset, one.id.epoch): (
            one.validity.value,
            sorted(found.rule.id for found in one.broken),
        )
        for one in members[node_id].verdicts
    }
    assert max(told.items())[1][0] == DAMAGES[node_id][2]


def test_an_unchanged_directory_in_a_new_group_is_not_judged_again(
    spark: SparkSession, edited: Edited, tmp_path: Path
) -> None:
    lake = Lake(shutil.copytree(edited.lake.root, tmp_path / "lake"))
    before = read(spark, lake, bronze.FINDINGS).count()
    ingest(IngestOptions([str(edited.damaged / "101")], lake))
    assert read(spark, lake, bronze.FINDINGS).count() == before > 0
