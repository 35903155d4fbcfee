"""What check says of a small lake, from rows made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pipelines.gold.findings import Judged, findings, refused_records
from pipelines.gold.inputs import Silver
from pipelines.gold.membership import (
    Entries,
    RoundMember,
    entries_at,
    members_of,
    membership_findings,
    wanted_offsets,
)
from pipelines.gold.snapshot_validity import (
    judged_snapshots,
    same_snapshot_findings,
    snapshot_validity,
)
from pipelines.replay.plan import PlannedSnapshot
from pipelines.stages.whole_cluster import of_one
from pipelines.tables.bronze import DERIVED_FROM, LOG_BATCHES, SNAPSHOT_RECORDS, SNAPSHOTS
from pipelines.tables.gold import FINDINGS, SNAPSHOT_VALIDITY
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.record import UnknownRecord
from tests.pipelines.cluster.record_rows import (
    CLUSTER,
    Row,
    at,
    branch,
    committed,
    replayed,
    snapshot,
)
from tests.pipelines.cluster.tables import bronze_tables
from tests.replica.metadata.image.made import OTHER_TOPIC, config, remove_topic, topic

REPLICA = {"cluster_id": CLUSTER, "node_id": 1, "directory_id": "d1"}
UNKNOWN = UnknownRecord(99, 0, b"")
ID = PlannedSnapshot(2, 1, "sha", 1, None)


def capture(node_id: int = 1, **fields: Any) -> Row:
    usual = {
        **REPLICA,
        **{
            "node_id": node_id,
            "directory_id": f"d{node_id}",
            "capture_id": f"c{node_id}",
            "capture_group": "g",
        },
        **{"captured_at": at(10), "ingest_seq": 1, "source": f"/nodes/{node_id}"},
        **{"log_start_offset": 0, "log_end_offset": 9, "files": []},
    }
    return {**usual, **fields}


def held_snapshot(
    records: list[ReplayedRecord], planned: PlannedSnapshot = ID, node_id: int = 1, **fields: Any
) -> tuple[Row, list[Row]]:
    row, rows = snapshot(planned, records, node_id=node_id)
    name = f"__cluster_metadata-0/{planned.end_offset:020d}-{planned.epoch:010d}.checkpoint"
    return {**row, "file": name, "captures": [f"c{node_id}"], **fields}, rows


def bronze(*snapshots: tuple[Row, list[Row]], **tables: list[Row]) -> Silver:
    """What a cluster's tables are made from. tables: rows by the names of _TABLES."""
    given = {
        "captures": [capture()],
        "snapshots": [row for row, _ in snapshots],
        "snapshot_records": [row for _, rows in snapshots for row in rows],
        **tables,
    }
    return of_one(CLUSTER, bronze_tables({_TABLES[name]: rows for name, rows in given.items()}))


_TABLES = {contract.table_name: contract for contract in DERIVED_FROM} | {"batches": LOG_BATCHES}


def compared(of: Silver, rows: list[Row]) -> list[Row]:
    """What the comparison of the snapshots with a branch of these rows tells."""
    held = [of.tables.tables[one].to_pylist() for one in (SNAPSHOTS, SNAPSHOT_RECORDS)]
    return replayed(rows, *held).compared


def judged(of: Silver, rows: list[Row]) -> dict[str, list[Row]]:
    told = compared(of, rows)
    snapshots = judged_snapshots(of.bronze, told)
    vars(of).update(agreed=committed(rows), groups=[])  # in the place of what the captures show
    judged = Judged(of.bronze.findings, snapshots, told, health=(), stale=())
    found = findings(of.bronze, of.tables, of.agreed, of.groups, judged)
    return {SNAPSHOT_VALIDITY.name: snapshot_validity(snapshots), FINDINGS.name: found}


def verdicts(of: Silver, rows: list[Row]) -> list[tuple[str, list[str], list[str]]]:
    return [
        (
            row["verdict"],
            [one["rule"] for one in row["broken_rules"]],
            [one["rule"] for one in row["notes"]],
        )
        for row in judged(of, rows)[SNAPSHOT_VALIDITY.name]
    ]


def finding(rule: str, severity: str = "error", **fields: Any) -> Row:
    """A row of bronze.findings."""
    usual = {
        **REPLICA,
        **{"capture_id": "c1", "rule": rule, "severity": severity, "file": "f", "position": 7},
        **{"offset": None, "epoch": None, "message": "m"},
        **{"snapshot_end_offset": None, "snapshot_epoch": None},
    }
    return {**usual, **fields}


def batch(node_id: int = 1, **fields: Any) -> Row:
    usual = {
        **REPLICA,
        **{
            "node_id": node_id,
            "directory_id": f"d{node_id}",
            "base_offset": 0,
            "last_offset": 9,
            "leader_epoch": 1,
        },
        **{"crc": 0, "position": 61, "file": "__cluster_metadata-0/0.log"},
        "in_log": [{"from": at(0), "to": None}],
    }
    return {**usual, **fields}


def test_a_snapshot_that_is_the_log_is_valid_and_another_one_is_not() -> None:
    rows = branch([topic(), config("1")])
    assert verdicts(bronze(held_snapshot([topic(), config("1")])), rows) == [("valid", [], [])]
    wrong = bronze(held_snapshot([topic()]))
    assert verdicts(wrong, rows) == [("invalid", ["snapshot-content"], [])]
    (found,) = judged(wrong, rows)[FINDINGS.name]
    assert found["file"] == "/nodes/1/00000000000000000002-0000000001.checkpoint"
    assert (found["offset"], found["epoch"], found["capture_id"]) == (2, 1, "c1")
    assert found.keys() >= set(FINDINGS.column_names)


def test_a_snapshot_that_no_replay_reaches_is_unverifiable() -> None:
    rows = branch([topic()])
    unread = bronze(held_snapshot([topic()]))
    assert verdicts(unread, rows) == [("unverifiable", [], ["snapshot-unverified"])]
    (row,) = judged(unread, rows)[SNAPSHOT_VALIDITY.name]
    assert row.keys() == set(SNAPSHOT_VALIDITY.column_names)


def test_a_snapshot_behind_an_unknown_record_of_its_log_is_not_known() -> None:
    told = [finding("unknown-record-type", "info", offset=1)]
    rows = branch([topic(), UNKNOWN, config("1")])
    of = bronze(held_snapshot([topic()], ID._replace(end_offset=3)), findings=told)
    ((verdict, broken, notes),) = verdicts(of, rows)
    assert (verdict, broken) == ("unverifiable", [])
    assert len(notes) == 1


def test_findings_of_ingest_about_a_snapshot_are_sorted_with_null_first() -> None:
    place = {"snapshot_end_offset": 2, "snapshot_epoch": 1}
    told = [
        finding("crc-mismatch", position=9, **place),
        finding("crc-mismatch", position=None, **place),
        finding("crc-mismatch", **{**place, "snapshot_epoch": None}),
        finding("crc-mismatch", snapshot_epoch=1),
    ]
    of = bronze(held_snapshot([topic(), config("1")]), findings=told)
    (row,) = judged(of, branch([topic(), config("1")]))[SNAPSHOT_VALIDITY.name]
    assert [one["position"] for one in row["broken_rules"]] == [None, 9]
    assert row["verdict"] == "invalid"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("__cluster_metadata-0/2-1.checkpoint", "/nodes/1/2-1.checkpoint"),
        ("__cluster_metadata-0/2-1.checkpoint.deleted", "/nodes/1/2-1.checkpoint"),
        ("__cluster_metadata-0/checkpoints/2-1.checkpoint", "/nodes/1/checkpoints/2-1.checkpoint"),
    ],
)
def test_a_snapshot_is_shown_by_the_name_it_had_when_it_was_complete(file: str, shown: str) -> None:
    of = bronze(held_snapshot([topic()], file=file))
    assert [row["file"] for row in judged(of, branch([topic()]))[FINDINGS.name]] == [shown]


def test_a_record_that_cannot_be_applied_is_a_finding_of_each_capture_that_held_it() -> None:
    rows = branch([topic(), remove_topic(OTHER_TOPIC), config("1"), remove_topic(OTHER_TOPIC)])
    looks = [capture(node_id) for node_id in (1, 2, 3, 4)]
    held = [
        batch(1, leader_epoch=7),
        batch(1),
        batch(2, in_log=[{"from": at(11), "to": None}]),
        batch(3, in_log=[{"from": at(0), "to": at(9)}, {"from": at(10), "to": at(10)}]),
        batch(4, base_offset=2),
    ]
    found = judged(bronze(captures=looks, batches=held), rows)[FINDINGS.name]
    assert [(row["node_id"], row["file"], row["position"]) for row in found] == [
        (1, "/nodes/1/0.log", 61),
        (3, "/nodes/3/0.log", 61),
    ]
    assert {(row["rule"], row["offset"], row["epoch"]) for row in found} == {
        ("unappliable-record", 1, 1)
    }


def test_refused_records_of_several_runs_are_counted_together_with_the_first_one() -> None:
    bad = [remove_topic(OTHER_TOPIC)]
    rows = branch([*bad, topic(), UNKNOWN])
    base = held_snapshot([topic()], ID._replace(end_offset=3))
    rows += branch([*bad, *bad], 3)
    told = replayed(rows, [base[0]], base[1]).compared
    (found,) = refused_records(told, committed(rows))
    assert (found["offset"], found["epoch"]) == (0, 1)
    assert "2 more can't be applied" in found["message"]
    assert refused_records(told, committed([])) == []


def test_a_finding_that_occurs_twice_is_told_once() -> None:
    told = [finding("crc-mismatch"), finding("crc-mismatch"), finding("crc-mismatch", position=8)]
    assert len(judged(bronze(findings=told), [])[FINDINGS.name]) == 2


def beside(*snapshots: tuple[Row, list[Row]], **tables: Any) -> list[Row]:
    looks = [capture(node_id) for node_id in (1, 2, 3)]
    of = bronze(*snapshots, **{"captures": looks, **tables})
    return list(same_snapshot_findings(of.bronze, compared(of, [])))


def test_each_snapshot_is_held_against_the_first_replicas_of_its_id() -> None:
    first = held_snapshot([topic()], ID._replace(content_sha256="m"), 1)
    lower = held_snapshot([topic(), config("1")], ID._replace(content_sha256="l"), 2)
    higher = held_snapshot([topic(), config("2")], ID._replace(content_sha256="n"), 3)
    found = beside(higher, first, lower)
    assert [(row["node_id"], row["rule"]) for row in found] == [
        (2, "snapshot-id-conflict"),
        (3, "snapshot-id-conflict"),
    ]
    assert all("(against /nodes/1/" in row["message"] for row in found)
    # whichever of the two was compared with the other
    assert all("retention.ms" in row["message"] for row in found)
    assert all("is too much (" in row["message"] for row in found)


def test_equal_bootstrap_broken_and_unreadable_snapshots_are_not_held_against_each_other() -> None:
    other = ID._replace(content_sha256="other")
    a, b = held_snapshot([topic("a")], ID, 1), held_snapshot([topic("b")], other, 2)
    assert len(beside(a, b)) == 1
    assert beside(a, held_snapshot([topic("a")], ID, 2)) == []
    assert beside(a, held_snapshot([topic("b")], other, 2, is_whole=False)) == []
    assert beside(a, held_snapshot([topic("b"), remove_topic(OTHER_TOPIC)], other, 2)) == []
    unreadable = finding(
        "undecodable-record", capture_id="c2", snapshot_end_offset=2, snapshot_epoch=1
    )
    assert beside(a, b, findings=[unreadable]) == []
    assert beside(a, b, captures=[capture(1), capture(2, capture_group="later")]) == []
    boot = ID._replace(end_offset=0, epoch=0)
    boots = [
        held_snapshot([topic(sha)], boot._replace(content_sha256=sha), node_id)
        for node_id, sha in ((1, "a"), (2, "b"))
    ]
    assert beside(*boots) == []


def members(captures: list[Row], **given: Any) -> list[tuple[str, str, int | None]]:
    found: list[RoundMember] = []
    entries: dict[str, Entries] = {}
    sets = given.pop("snapshot_sets", {})
    held = given.get("batches", [])
    for cluster_id in {row["cluster_id"]: None for row in captures}:
        names = ("captures", "batches", "replica_state")
        mine = {
            name: [row for row in given.get(name, ()) if row["cluster_id"] == cluster_id]
            for name in names
        }
        mine["captures"] = [row for row in captures if row["cluster_id"] == cluster_id]
        tables = bronze_tables({_TABLES[name]: rows for name, rows in mine.items()})
        silver = of_one(cluster_id, tables)
        vars(silver).update(snapshot_sets=sets)  # in the place of those of snapshot records
        found += members_of(silver, {row["ingest_seq"] for row in captures})
    for number, offsets in wanted_offsets(found).items():
        rows = [{**row, "size_bytes": 9, "holds": _held_by(row, offsets)} for row in held]
        of_round = [one for one in found if one.ingest_seq == number]
        entries |= {one.capture_id: entries_at(rows, one) for one in of_round}
    told = membership_findings(found, entries)
    return [(row["rule"], row["capture_id"], row["offset"]) for row in told]


def _held_by(row: Row, offsets: Iterable[int]) -> list[int]:
    return [one for one in offsets if row["base_offset"] <= one <= row["last_offset"]]


def test_logs_of_two_clusters_that_hold_one_entry_are_told() -> None:
    looks = [capture(1), capture(2), capture(3, cluster_id="other")]
    last = {"base_offset": 5, "crc": 2}
    held = [
        batch(1, last_offset=4, crc=1),
        batch(1, **last),
        batch(2, last_offset=4, crc=1),
        batch(3, cluster_id="other", **last),
    ]
    assert members(looks, batches=held) == [("cluster-id-mismatch", "c3", 5)]
    one = [{**row, "cluster_id": CLUSTER} for row in looks]
    assert members(one, batches=[{**row, "cluster_id": CLUSTER} for row in held]) == []
    later = [looks[0], {**looks[2], "ingest_seq": 2}]
    assert members(later, batches=held) == []


def test_two_leaders_of_one_epoch_are_told_by_the_round_that_saw_both() -> None:
    looks = [capture(1), capture(2)]
    state = [{**REPLICA, "capture_id": f"c{n}", "leader_id": n, "leader_epoch": 4} for n in (1, 2)]
    assert members(looks, replica_state=state) == [("two-leaders", "c2", None)]
    assert members([looks[0], {**looks[1], "ingest_seq": 2}], replica_state=state) == []


def test_bootstrap_snapshots_that_name_other_voters_are_told_where_the_file_is_there() -> None:
    path = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    looks = [capture(n, files=[{"path": path}]) for n in (1, 2)]

    def named(node_id: int, directory: str, end_offset: int = 0) -> dict[Any, Any]:
        voters = [{"voter_id": 1, "directory_id": directory}]
        key = (CLUSTER, node_id, f"d{node_id}", end_offset, 0, "sha")
        return {key: [{"offset": 0, "epoch": 0, "voters": voters}]}

    differing = {**named(1, "x"), **named(2, "y")}
    assert members(looks, snapshot_sets=differing) == [("initial-voters-differ", "c2", 0)]
    assert members(looks, snapshot_sets={**named(1, "x"), **named(2, "x")}) == []
    assert members(looks, snapshot_sets={**named(1, "x"), **named(2, "y", end_offset=5)}) == []
    without = [looks[0], {**looks[1], "files": []}]
    assert members(without, snapshot_sets=differing) == []
    undecoded = {
        key: [{**one, "voters": None} for one in sets] for key, sets in named(2, "y").items()
    }
    assert members(looks, snapshot_sets={**named(1, "x"), **undecoded}) == []
