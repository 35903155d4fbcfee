"""Damaged copies in a lake: the tables name the rule that `kraftlake check` names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from jobs.build import run as build
from jobs.ingest import run as ingest
from pipelines.delta import Lake, read
from pipelines.tables import bronze, gold
from replica.check.group import Judged
from replica.format.batch import HEADER
from tests.replica.check.editing import (
    append,
    batches,
    flip,
    judged,
    metadata,
    segment,
    snapshot,
)

pytestmark = pytest.mark.spark


def _flipped_byte(node: Path) -> None:
    path = snapshot(node, 2571, 6)
    flip(path, batches(path)[1].position + HEADER.size + 40)


def _no_footer(node: Path) -> None:
    path = snapshot(node, 2571, 6)
    path.write_bytes(path.read_bytes()[: batches(path)[-1].position])


def _another_epoch_in_the_name(node: Path) -> None:
    snapshot(node, 2571, 6).rename(snapshot(node, 2571, 5))


def _a_later_offset_in_the_name(node: Path) -> None:
    snapshot(node, 2571, 6).rename(snapshot(node, 2598, 6))


def _a_record_that_cannot_be_applied(node: Path) -> None:
    append(segment(node, 2722), metadata("FENCE_BROKER_RECORD", id=77, epoch=1))


DAMAGES: dict[int, tuple[Callable[[Path], None], set[str], str]] = {
    101: (_flipped_byte, {"crc-mismatch"}, "invalid"),
    102: (_no_footer, {"snapshot-footer"}, "invalid"),
    103: (_another_epoch_in_the_name, {"snapshot-epoch", "snapshot-log-epoch"}, "invalid"),
    104: (_a_later_offset_in_the_name, {"snapshot-content", "snapshot-timestamp"}, "invalid"),
    105: (_a_record_that_cannot_be_applied, {"unappliable-record"}, "valid"),
}
"""By node id: the change, the rules above info that name it, the verdict on the snapshot."""


@pytest.fixture(scope="module")
def nodes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of one directory as replicas of their own, each damaged in its way."""
    nodes = tmp_path_factory.mktemp("damaged") / "nodes"
    for node_id, (change, _, _) in DAMAGES.items():
        node = Path(shutil.copytree(data / "kafka-4.1.1-dynamic/final/3", nodes / str(node_id)))
        meta = node / "meta.properties"
        text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node_id}", meta.read_text())
        directory_id = f"AAAAAAAAAAAAAAAAAA{node_id}w"
        meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={directory_id}", text))
        change(node)
    return nodes


@pytest.fixture(scope="module")
def lake(spark: SparkSession, nodes: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = tmp_path_factory.mktemp("damaged") / "lake"
    assert ingest([str(nodes)], lake=str(lake)) == 1
    assert build(lake=str(lake)) == 0
    return Lake(lake)


@pytest.fixture(scope="module")
def findings(spark: SparkSession, lake: Lake) -> list[Row]:
    return read(spark, lake, gold.FINDINGS).collect()


@pytest.fixture(scope="module")
def members(nodes: Path) -> dict[int, Judged]:
    """What `kraftlake check` says of the copies, by node id."""
    members = judged(nodes).members
    return {one.examined.replica.node_id: one for one in members if one.examined.replica}


@pytest.mark.parametrize("node_id", DAMAGES)
def test_each_damage_gives_the_findings_of_check(
    findings: list[Row], members: dict[int, Judged], node_id: int
) -> None:
    _, rules, _ = DAMAGES[node_id]
    found = [row for row in findings if row.node_id == node_id]
    assert {row.rule for row in found if row.severity != "info"} == rules
    member = members[node_id]
    expected = {
        (
            *(one.rule.id, one.severity.value, member.examined.shown_file(one.file)),
            *(one.position, one.offset, one.epoch, one.message),
        )
        for one in member.findings
    }
    assert {
        (
            *(row.rule, row.severity, row.file, row.position, row.offset, row.epoch),
            row.message,
        )
        for row in found
    } == expected


@pytest.mark.parametrize("node_id", DAMAGES)
def test_each_damaged_snapshot_has_the_verdict_of_check(
    spark: SparkSession, lake: Lake, members: dict[int, Judged], node_id: int
) -> None:
    rows = read(spark, lake, gold.SNAPSHOT_VALIDITY).where(f"node_id = {node_id}").collect()
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
    spark: SparkSession, lake: Lake, nodes: Path
) -> None:
    before = read(spark, lake, bronze.FINDINGS).count()
    ingest([str(nodes / "101")], lake=lake.root)
    assert read(spark, lake, bronze.FINDINGS).count() == before > 0
