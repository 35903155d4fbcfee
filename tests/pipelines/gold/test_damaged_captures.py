"""Damaged copies in a lake: the tables name the rule that `kraftlake check` names."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.asking.sql_delta_rs import named_rows
from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines.lake import Lake
from replica.doctor.check.group import JudgedDirectory
from tests.pipelines.gold.conftest import Edited
from tests.pipelines.gold.damaged_nodes import CLUSTER_ID, DAMAGES
from tests.replica.doctor.check.editing import judged

pytestmark = pytest.mark.slow  # a lake of their own takes half a minute

Row = dict[str, Any]


@pytest.fixture(scope="module")
def findings(edited: Edited) -> list[Row]:
    rows = edited.rows("SELECT * FROM gold.findings WHERE family = 'files'")
    return [row for row in rows if row["cluster_id"] == CLUSTER_ID]


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
    found = [row for row in findings if row["node_id"] == node_id]
    assert {row["rule"] for row in found if row["severity"] != "info"} == rules
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
    names = ("rule", "severity", "file", "position", "offset", "epoch", "message")
    assert {tuple(row[name] for name in names) for row in found} == expected


@pytest.mark.parametrize("node_id", DAMAGES)
def test_each_damaged_snapshot_has_the_verdict_of_check(
    edited: Edited, members: dict[int, JudgedDirectory], node_id: int
) -> None:
    rows = edited.rows(f"SELECT * FROM gold.snapshot_validity WHERE node_id = {node_id}")
    told = {
        (row["end_offset"], row["epoch"]): (
            row["verdict"],
            sorted(one["rule"] for one in row["broken_rules"]),
        )
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
    edited: Edited, tmp_path: Path
) -> None:
    lake = Lake(shutil.copytree(edited.lake.root, tmp_path / "lake"))
    query = "SELECT * FROM bronze.findings"
    before = edited.rows(query)
    ingest(IngestOptions([str(edited.damaged / "101")], lake))
    assert len([*named_rows(lake, query)]) == len(before) > 0
