"""The rules between directories, each provoked: gold.findings says what `kraftlake check` says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.commands.directories import CheckOptions
from jobs.cli.directories.check import run as check
from replica.doctor.check import formatted
from replica.doctor.check.catalogue import groups
from replica.doctor.check.rule import rules_of
from tests.pipelines.gold.conftest import Edited
from tests.pipelines.gold.disagreeing_nodes import LATER_ID, LATEST_ID, RENAMED_ID

pytestmark = pytest.mark.slow  # a lake of their own takes half a minute

Row = dict[str, Any]
_COLUMNS = ("rule", "severity", "file", "position", "offset", "epoch", "message")


@pytest.fixture(scope="module")
def nodes(edited: Edited) -> Path:
    return edited.disagreeing


@pytest.fixture(scope="module")
def findings(edited: Edited) -> list[Row]:
    rows = edited.rows("SELECT * FROM gold.findings WHERE family = 'files'")
    return [row for row in rows if row["file"].startswith(f"{edited.disagreeing}/")]


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
    of_other_rounds = {
        groups.GROUP_TOO_LARGE.id,
        groups.STALE_VOTER.id, groups.DISK_OF_ANOTHER_CLUSTER.id, groups.CLUSTER_IDS_DIFFER.id,
        groups.LEADER_LACKS_OWN_RECORDS.id,  # in tests/pipelines/gold/test_known_quorums.py
        groups.VOTER_BEHIND.id,
        groups.REPLICA_WENT_BACK.id,  # in tests/jobs/test_went_back.py, those above by verdicts
        # in tests/jobs/test_formatted_in_a_lake.py
        groups.FORMATTED_FOR_ANOTHER_CLUSTER.id, groups.METADATA_LOG_NOT_GIVEN.id,
    }  # fmt: skip
    rules = {rule.id for rule in rules_of(groups)}
    assert rules - {row["rule"] for row in findings} == of_other_rounds


def test_a_finding_is_of_the_replica_in_whose_directory_its_file_lies(
    findings: list[Row], nodes: Path
) -> None:
    without_log = (*formatted.RULES, groups.VOTER_DISK_EMPTY)  # their directories hold no log
    names = {rule.id for rule in rules_of(groups)} - {rule.id for rule in without_log}
    found = {
        (
            row["rule"],
            Path(row["file"]).relative_to(nodes).parts[1],
            row["node_id"],
            row["cluster_id"],
        )
        for row in findings
        if row["rule"] in names
    }
    assert ("two-leaders", "3", 3, LATEST_ID) in found
    assert ("cluster-id-mismatch", "11", 11, RENAMED_ID) in found
    numbered = [(folder, node_id) for _, folder, node_id, _ in found if folder[0] != "d"]
    assert numbered
    assert all(int(name.split("-")[0]) == node_id for name, node_id in numbered)


def test_a_snapshot_behind_a_record_of_a_later_kafka_is_unverifiable(
    edited: Edited, findings: list[Row]
) -> None:
    rows = edited.rows(f"SELECT * FROM gold.snapshot_validity WHERE cluster_id = '{LATER_ID}'")
    assert {row["end_offset"]: row["verdict"] for row in rows} == {
        519: "valid",
        1913: "unverifiable",
    }
    mine = {row["rule"] for row in findings if row["cluster_id"] == LATER_ID}
    assert {"unknown-record-type", "snapshot-not-known"} <= mine
    assert "unappliable-record" not in mine
