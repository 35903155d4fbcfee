"""Health and exposures as rows are what replica.doctor.health says of the same records."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given, settings

from pipelines.gold.failure_exposure import health
from pipelines.gold.health_rules import EXPOSURE, FINDING
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.newest_states import newest_states
from pipelines.gold.state_ranges import state_ranges
from pipelines.tables.gold import FAILURE_EXPOSURE, FINDINGS
from replica.doctor.health.exposure import exposures
from replica.doctor.health.judging import judge_health
from replica.metadata.record import UnknownRecord
from tests.pipelines.cluster.record_rows import CLUSTER, Row, at, branch, replayed
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after
from tests.replica.doctor.health.clusters import healthy as healthy_cluster
from tests.replica.doctor.health.test_past import logs, looked_back
from tests.replica.metadata.image.made import config, topic

MIN_ISR = "min.insync.replicas"
EPOCH = {"cluster_id": CLUSTER, "epoch": 1, "start_offset": 0}


def status(node_id: int, agreed_end: int, **fields: Any) -> Row:
    usual = {
        **{"cluster_id": CLUSTER, "node_id": node_id, "directory_id": f"d{node_id}"},
        **{"capture_id": f"c{node_id}", "captured_at": at(900), "snapshot_end_offset": None},
        **{"agreed_end_offset": agreed_end, "last_append_time": at(agreed_end - 1)},
    }
    return {**usual, **fields}


def capture(node_id: int, seq: int = 1) -> Row:
    return {"capture_id": f"c{node_id}", "ingest_seq": seq, "source": f"/nodes/{node_id}/{seq}"}


class Told(NamedTuple):
    findings: list[Row]
    exposures: list[Row]


def told(records: list[Any], *statuses: Row, voters: tuple[int, ...] = ()) -> Told:
    rows = branch(records)
    named = [{"voter_id": one, "directory_id": "d"} for one in voters]
    looked = statuses or (status(1, len(records)),)
    places = [capture(one["node_id"], seq) for one in looked for seq in (2, 1)]
    written = replayed(rows).written
    ranges = state_ranges(written).to_pylist()
    agreed_end = max(one["agreed_end_offset"] for one in looked)
    seen = newest_states(looked, places, ranges, [{**EPOCH, "voters": named}], agreed_end)
    found = [row for one in health(metadata_history(written), seen) for row in one.rows]
    return Told(*([row for row in found if row["what"] == one] for one in (FINDING, EXPOSURE)))


def test_findings_are_those_of_the_state_at_the_end_with_their_subjects() -> None:
    records = [*healthy_cluster(), config("2", MIN_ISR), a_partition(isr=(11,)), a_broker(13)]
    found = {row["rule"]: row for row in told(records).findings}
    expected = {one.rule.id: one for one in judge_health(cluster_after(records))}
    assert found.keys() == expected.keys()
    assert len(found) > 1
    for rule, row in found.items():
        assert (row["severity"], row["message"]) == (
            expected[rule].severity.value,
            expected[rule].message,
        )
        subjects = [subject._asdict() for subject in expected[rule].subjects]
        assert json.loads(row["subjects"]) == subjects
        assert (row["family"], row["capture_id"], row["file"]) == ("health", "c1", "/nodes/1/1")
        assert set(FINDINGS.column_names) <= row.keys()


def test_a_reassignment_is_as_old_as_the_records_of_the_lake_say() -> None:
    moved = a_partition(0, (11, 12, 13), addingReplicas=(13,))
    records = [*healthy_cluster(), moved, *(a_broker(11) for _ in range(60))]
    (row,) = [one for one in told(records).findings if one["rule"].startswith("reassignment")]
    (subject,) = json.loads(row["subjects"])
    assert subject["what"] == "adds [13], for 1 min"
    assert subject["offset"] == len(records) - 61


def test_a_static_quorum_has_the_voters_of_its_newest_epoch() -> None:
    records = [one for one in healthy_cluster() if type(one).__name__ != "KRaftVoters"]
    found = told(records, voters=(1, 2))
    assert {row["kind"] for row in found.exposures} >= {"voter"}
    (row,) = [one for one in found.findings if one["rule"] == "even-voters"]
    assert row["message"] == "voters [1, 2]: none may fail"


def test_findings_of_health_name_the_newest_of_the_captures_that_reach_furthest() -> None:
    records = [*healthy_cluster(), a_partition(isr=(11,))]
    end = len(records)
    looked = (status(4, end), status(3, end), status(2, end, captured_at=at(1)), status(1, end - 1))
    assert {row["capture_id"] for row in told(records, *looked).findings} == {"c3"}


def test_behind_an_unknown_record_health_is_that_of_the_state_before() -> None:
    records = [*healthy_cluster(), a_partition(isr=(11,))]
    unknown = [*records, UnknownRecord(99, 0, b""), a_broker(11, fenced=True)]
    found = told(unknown, status(1, len(unknown)))
    rules = {row["rule"] for row in found.findings}
    assert "state-not-whole" in rules
    assert "replica-on-fenced-broker" not in rules
    assert {row["end_offset"] for row in found.exposures} == {len(records)}


def test_a_cluster_without_a_known_state_has_no_rows() -> None:
    looked = newest_states([status(1, 0)], [capture(1)], [], [], 0)
    assert health(metadata_history(replayed([]).written), looked) == []


@settings(deadline=None, max_examples=15)
@given(logs())
def test_exposures_of_the_table_are_those_of_the_log_with_their_beginnings(
    records: list[Any],
) -> None:
    cluster, past = cluster_after(records), looked_back(records).exposed
    expected = []
    for one in exposures(cluster):
        since = past.get(one.failure)
        times = (None, None) if since is None else (since.offset, at(since.offset))
        figures = *one.harm, one.voters_left, one.has_majority, *times, len(records)
        expected.append((one.failure.kind, ",".join(one.failure.gone), *figures))
    rows = told(records).exposures
    table = pa.Table.from_pydict(
        {name: [row[name] for row in rows] for name in FAILURE_EXPOSURE.column_names},
        FAILURE_EXPOSURE.arrow_schema,
    )
    found = [tuple(row.values())[1:-1] for row in table.to_pylist()]
    assert found == expected


def test_topics_of_one_state_are_read_with_their_partitions() -> None:
    assert told([topic(), a_partition(0, (11,), leader=11)]).exposures[0]["leaderless"] == 1
