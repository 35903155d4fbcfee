"""The evidence on recorded clusters, held to what Kafka's own dump of their logs says."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Level
from replica.format.discovery import discover
from replica.severity import Severity

DATA = Path(__file__).parents[3] / "data"
CAPTURES = sorted(
    f"{scenario.name}/{capture.name}"
    for scenario in DATA.iterdir()
    if scenario.is_dir()
    for capture in scenario.iterdir()
    if capture.is_dir()
)
STATIC, DYNAMIC, NEW = (
    "kafka-3.7.2-static/split", "kafka-4.1.1-dynamic/final", "kafka-4.4.0-dynamic/split",
)  # fmt: skip


def evidence(*folders: Path, files: bool = True, health: bool = True) -> ClusterEvidence:
    """The evidence on the one cluster of these folders."""
    group = [examine(found) for found in discover([str(folder) for folder in folders])]
    (cluster,) = clusters_of(judge_group(group, newest=True), {})
    return evidence_of(cluster, files=files, health=health)


def dumped(node: str) -> Iterator[dict[str, Any]]:
    """The records of a node's log as Kafka's own tool printed them, in the order of the log."""
    with gzip.open(DATA / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            is_log = row["file"].startswith(f"{node}/") and row["file"].endswith(".log")
            if is_log and row["kind"] == "record":
                yield row


def leaderless_by_kafka(node: str) -> dict[tuple[str, int], int]:
    """The partitions that have no leader at the end of a node's log, with the time (ms) at which
    each lost it."""
    found: dict[tuple[str, int], int] = {}
    for row in dumped(node):
        data = row["data"]
        if row["type"] == "REMOVE_TOPIC_RECORD":
            found = {key: at for key, at in found.items() if key[0] != data["topicId"]}
        if row["type"] not in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
            continue
        key, leader = (data["topicId"], data["partitionId"]), data.get("leader", -2)
        if leader == -1:
            found.setdefault(key, row["ts"])
        elif leader >= 0:
            found.pop(key, None)
    return found


def test_since_when_partitions_have_no_leader_is_what_kafka_s_records_say() -> None:
    truth = leaderless_by_kafka(f"{DYNAMIC}/3")
    told = evidence(DATA / DYNAMIC)
    assert told.leaderless is not None
    assert told.leaderless[:3] == (min(truth.values()), max(truth.values()), True)
    assert verdict_on(told).headline.startswith(f"{len(truth)} of {told.partitions} partitions")


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_recorded_cluster_is_called_well_only_where_no_finding_warns(capture: str) -> None:
    told = evidence(DATA / capture)
    verdict = verdict_on(told)
    found = [*(one.finding for one in told.findings), *(told.health or ())]
    warns = any(one.severity is not Severity.INFO for one in found)
    assert (verdict.level in (Level.HEALTHY, Level.INCOMPLETE)) is not warns
    assert verdict.notes == sum(one.severity is Severity.INFO for one in found)


@pytest.mark.parametrize(("capture", "first"), [(STATIC, 750), (NEW, 944)])
def test_nodes_that_lose_the_same_records_are_told_together(capture: str, first: int) -> None:
    (loss,) = evidence(DATA / capture).to_lose
    assert (loss.nodes, loss.first, loss.records) == (("2", "11"), first, 22)
    assert loss.lost is not None
    assert (loss.lost.committed, loss.lost.superseded) == (0, 22)


@pytest.mark.parametrize(
    ("nodes", "what"),
    [(("2",), "2 of 3 voters (nodes 1 and 3)"), (("2", "3"), "1 of 3 voters (node 1)"),
     (("11",), "3 of 3 voters (nodes 1, 2 and 3)"), (("1", "2", "3"), None)],
)  # fmt: skip
def test_voters_that_were_not_given_are_gaps(nodes: tuple[str, ...], what: str | None) -> None:
    told = evidence(*(DATA / STATIC / node for node in nodes))
    gaps = [gap.what for gap in verdict_on(told).not_judged if "voters" in gap.what]
    assert gaps == ([] if what is None else [what])


def test_the_families_narrow_the_evidence() -> None:
    files = evidence(DATA / DYNAMIC, health=False)
    assert (files.health, files.partitions) == (None, 0)
    assert verdict_on(files).level is Level.HEALTHY
    state = evidence(DATA / DYNAMIC, files=False)
    assert (state.findings, state.to_lose) == ((), ())
    assert verdict_on(state).level is Level.OUTAGE
