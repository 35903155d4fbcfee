"""The page over small lakes: real Delta tables, asked by delta-rs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.sharing.report import source
from pipelines.lake import Lake
from pipelines.report import evidence, queries
from pipelines.report.page import render
from replica.doctor.verdict.verdict import Level
from replica.errors import UsageError
from replica.message.schema import REDACTED
from tests.pipelines.report import small_lake
from tests.pipelines.report.incidents import split
from tests.pipelines.report.journeys import journey
from tests.pipelines.report.pages import Reported, change, report_of
from tests.pipelines.report.reading import read_page
from tests.pipelines.report.small_lake import CLUSTER, capture, held, replica, together

YEAR_199983 = 6_248_700_000_000_000_000
"""Microseconds since 1970 that a timestamp of Delta can hold and a calendar of Python can't."""


def finding(number: int, rule: str = "crc-mismatch", **more: Any) -> dict[str, Any]:
    place = {"file": "00.log", "position": number, "offset": number, "message": f"found {number}"}
    told = {"rule": rule, "severity": "error", "capture_id": "capture-1-1", "family": "files"}
    return {**replica(1), **told, **place, **more}


def test_a_split_is_told_by_its_verdict_both_branches_and_what_was_truncated(
    reported: Reported,
) -> None:
    report, page = reported(split(healed=True))
    (cluster,) = report.clusters
    assert cluster.verdict.level is Level.RECOVERED
    assert cluster.verdict.sentence.startswith(
        "Node 2 held 2 records (offsets 10 to 11, epoch 1, written 2026-01-02 03:04:15 to 03:04:16 "
        "UTC) that were never committed and has discarded them between 2026-01-02 03:07:25 "
        "UTC and 2026-01-02 03:09:05 UTC. No committed record of the metadata log was lost"
    )
    assert cluster.verdict.sentence in page.text
    (parting,) = cluster.partings
    assert [row.offset for row in parting.records] == [8, 9, 10, 11, 12, 13, 14]
    assert [len(row.cells) for row in parting.records] == [1, 1, 2, 2, 2, 2, 2]
    kept, ghost = parting.records[2].cells
    assert kept is not None
    assert ghost is not None
    assert (kept.epoch, kept.record_type) == (2, "NO_OP_RECORD")
    assert (ghost.epoch, ghost.record_type) == (1, "TOPIC_RECORD")
    assert ghost.payload == '{"name":"orders","topicId":"AAAAAAAAAAAAAAAAAAAAAg"}'
    assert parting.records[-1].cells[1] is None
    (truncated,) = cluster.truncated
    assert [row.offset for row in truncated.records] == [10, 11]
    assert page.text.count('{"name":"orders","topicId":"AAAAAAAAAAAAAAAAAAAAAg"}') == 2
    assert "10 to 11" in page.text


def test_a_split_that_is_still_open_says_who_will_lose_what(reported: Reported) -> None:
    report, page = reported(split())
    (cluster,) = report.clusters
    assert cluster.verdict.level is Level.ATTENTION
    assert (
        "Node 2 holds 2 records (from offset 10 on, epoch 1, written 2026-01-02 03:04:15 to "
        "03:04:16 UTC)"
    ) in cluster.verdict.sentence
    assert "2 to be truncated from 10" in page.text
    assert "No record vanished from any node's metadata log" in page.text


def test_each_replica_says_how_far_it_is_behind(reported: Reported) -> None:
    rows = split()
    newest = max(rows["bronze.captures"], key=lambda row: (row["ingest_seq"], row["node_id"]))
    lag = {"lag_records": 24, "lag_ms": 3200, "is_latest": True}
    look = {name: newest[name] for name in ("node_id", "directory_id", "capture_id")}
    _, page = reported({**rows, "gold.replica_status": [{**look, **lag}]})
    assert page.text.count("24 records, 3.2 s") == 1


def test_a_span_without_an_end_lasts_until_the_newest_capture(reported: Reported) -> None:
    rows = split()
    for row in rows["bronze.log_batches"]:
        (span,) = row["in_log"]
        span["to"] = None
    report, _ = reported(rows)
    (parting,) = report.clusters[0].partings
    assert [row.offset for row in parting.records] == [8, 9, 10, 11, 12, 13, 14]


def test_every_sql_on_the_page_runs_as_it_stands_there(tmp_path: Path) -> None:
    lake = small_lake.write_lake(tmp_path / "lake", journey())
    page = read_page(render(report_of(lake)))
    assert len(page.sql) == 25
    asked = source(Lake(lake))
    for sql in page.sql:
        asked.ask(sql)


HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>\u202egnp.exe\x1b[31m\"'&"


def test_a_cluster_whose_id_somebody_made_up_is_refused(reported: Reported) -> None:
    rows = together(split(healed=True))
    for row in (row for table in rows.values() for row in table):
        assert isinstance(row, dict)
        if row.get("cluster_id") == CLUSTER:
            row["cluster_id"] = "c'; DROP TABLE x; --<b>\"\u202e"
    with pytest.raises(UsageError, match="Kafka's ids have letters"):
        reported(rows)


def test_hostile_names_are_shown_and_never_run(reported: Reported) -> None:
    rows = together(
        split(topic={"name": HOSTILE, "topicId": "AAAAAAAAAAAAAAAAAAAAAg"}, healed=True),
        {
            "gold.findings": [finding(1, rule="<i>rule", file=HOSTILE, message=HOSTILE)],
            "bronze.damage": [
                {
                    "capture_id": "capture-1-1",
                    "file": HOSTILE,
                    "kind": "framing",
                    "detail": HOSTILE,
                },
                {"file": HOSTILE, "kind": "not-kafka", "detail": HOSTILE},
            ],
            "gold.metadata_changes": [change(HOSTILE, 3, name=HOSTILE, new=f'{{"a":"{HOSTILE}"}}')],
        },
    )
    for table in rows.values():
        for row in table:
            assert isinstance(row, dict)
            if "source" in row:
                row["source"] = HOSTILE
            if row.get("directory_id") == replica(3)["directory_id"]:
                row["directory_id"] = "'</pre>"
    report, page = reported(rows)
    assert report.clusters[0].cluster_id == CLUSTER
    assert {"img", "b", "i"}.isdisjoint(tag for tag, _ in page.tags)
    assert len(page.named("script")) == 2  # the journey is data in one of them
    assert page.text.count("<script>alert('x')</script>") >= 6
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text
    assert "\\u202egnp.exe\\x1b[31m" in page.text


def test_activity_is_typed_where_the_lake_has_typed_changes(reported: Reported) -> None:
    changes = [change("topic_created", offset) for offset in (1, 2, 9)]
    ghost = change("topic_deleted", 10, commitment="superseded")
    report, page = reported(together(split(), {"gold.metadata_changes": [*changes, ghost]}))
    ((kind,),) = (group.kinds for group in report.clusters[0].activity)
    assert (kind.name, kind.changes, kind.first, kind.last) == ("topic_created", 3, 1, 9)
    assert "Typed changes of entities" in page.text
    assert "superseded" in page.text


def test_activity_is_counted_by_record_type_where_it_has_none(reported: Reported) -> None:
    rows = together(
        *(held(node, offset, 1, (1, 1)) for node in (1, 2) for offset in range(4)),
        {
            "bronze.captures": [capture(1, 1), capture(2, 1)],
            "gold.leader_epoch_history": [
                {"cluster_id": CLUSTER, "epoch": 1, "end_offset": 3, "commitment": "proven"}
            ],
        },
    )
    report, page = reported(rows)
    ((kind,),) = (group.kinds for group in report.clusters[0].activity)
    assert (kind.name, kind.changes) == ("NO_OP_RECORD", 3)
    assert "Records by type" in page.text


def test_long_tables_are_cut_and_say_how_many_rows_are_left_out(reported: Reported) -> None:
    snapshots = [
        {**replica(1), "end_offset": n, "epoch": 1, "capture_id": "capture-1-1", "verdict": "valid"}
        for n in range(queries.MAX_SNAPSHOTS + 7)
    ]
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.findings": [finding(n) for n in range(queries.MAX_FINDINGS + 9)],
        "gold.snapshot_validity": snapshots,
    }
    _, page = reported(rows)
    assert "and 9 more findings of this rule" in page.text
    assert "and 7 more snapshots" in page.text
    assert f"{len(snapshots)} snapshots: all is well with them" in page.text
    assert f"{queries.MAX_FINDINGS + 9} errors in the newest captures (crc-mismatch)" in page.text


def test_findings_say_what_their_rule_means_and_where_they_are(reported: Reported) -> None:
    _, page = reported({"bronze.captures": [capture(1, 1)], "gold.findings": [finding(77)]})
    assert "crc-mismatch : 1 finding, 1 in the newest captures" in page.text
    for word in ("Meaning", "Kafka", "Next", "Seen in", "found 77"):
        assert word in page.text


def test_health_is_told_apart_from_findings_and_from_the_verdict(reported: Reported) -> None:
    subjects = [{"name": f"orders-{n}", "what": "replicas [11]", "offset": n} for n in range(9)]
    of_health = finding(
        1, "no-eligible-leader", family="health", subjects=json.dumps(subjects),
        message="9 of 10 partitions",
    )  # fmt: skip
    of_files = finding(2, severity="info")
    rows = {"bronze.captures": [capture(1, 1)], "gold.findings": [of_health, of_files]}
    report, page = reported(rows)
    (cluster,) = report.clusters
    assert [rule.id for rule in cluster.rules] == ["crc-mismatch"]
    assert cluster.verdict.level is not Level.AT_RISK
    assert "no-eligible-leader : 9 of 10 partitions" in page.text
    assert "orders-4 (offset 4): replicas [11]" in page.text
    assert "orders-5" not in page.text


def test_exposure_shows_what_would_do_harm_the_worst_first_and_since_when(
    reported: Reported,
) -> None:
    rows = [
        {"kind": "broker", "gone": str(n), "leaderless": n, "voters_left": 3, "has_majority": True}
        for n in range(evidence.MAX_EXPOSURES + 4)
    ]
    rows.append({"kind": "voter", "gone": "1", "voters_left": 1, "has_majority": False})
    rows[-2] |= {"since_offset": 1526, "since": small_lake.START}
    _, page = reported({"bronze.captures": [capture(1, 1)], "gold.failure_exposure": rows})
    assert "voter 1 0 0 0 1, no majority before what the logs show" in page.text
    worst = evidence.MAX_EXPOSURES + 3
    assert f"broker {worst} {worst} 0 0 3 offset 1526, 2026-01-02 03:04:05" in page.text
    assert "broker 0" not in page.text
    assert "and 4 more failures" in page.text


def test_a_lake_that_takes_no_failure_amiss_says_so(reported: Reported) -> None:
    rows = [{"kind": "nothing", "voters_left": 3, "has_majority": True}]
    _, page = reported({"bronze.captures": [capture(1, 1)], "gold.failure_exposure": rows})
    assert "Nothing: no failure of a rack, a broker, two brokers or a voter" in page.text


def test_an_invalid_snapshot_shows_its_broken_rules_with_their_evidence(
    reported: Reported,
) -> None:
    broken = {"rule": "snapshot-footer", "file": "7-1.checkpoint", "position": 99, "message": "cut"}
    judged = {**replica(1), "end_offset": 7, "epoch": 1, "broken_rules": [broken]}
    rows = {
        "bronze.captures": [capture(1, 1), capture(1, 2)],
        "gold.snapshot_validity": [
            {**judged, "capture_id": "capture-1-1", "verdict": "invalid"},
            {**judged, "capture_id": "capture-1-2", "verdict": "valid", "broken_rules": []},
        ],
        "gold.findings": [finding(99, rule="snapshot-footer")],
    }
    report, page = reported(rows)
    assert "1 of 1 snapshot is invalid" in report.clusters[0].verdict.sentence
    assert "snapshot-footer : cut 7-1.checkpoint, byte 99" in page.text


def test_replicas_in_conflict_are_two_branches_though_they_claim_one_epoch(
    reported: Reported,
) -> None:
    pair = {
        **{"cluster_id": CLUSTER, "capture_group": "group-1", "relation": "conflict"},
        **{"node_a": 1, "directory_a": replica(1)["directory_id"], "epoch_a": 1},
        **{"node_b": 2, "directory_b": replica(2)["directory_id"], "epoch_b": 1},
        **{"divergence_offset": 5, "is_latest": True},
    }
    other = held(2, 5, 1, (1, 1), record_type="TOPIC_RECORD")
    for row in (*other["bronze.log_batches"], *other["bronze.log_records"]):
        assert isinstance(row, dict)
        row["crc"] = 4242
    rows = {
        "bronze.captures": [capture(1, 1), capture(2, 1)],
        "gold.divergence_points": [pair],
    }
    report, page = reported(together(rows, held(1, 5, 1, (1, 1)), other))
    (parting,) = report.clusters[0].partings
    assert [branch.crc for branch in parting.decoded.parting.branches] == [4242, 1001]
    assert report.clusters[0].verdict.level is Level.AT_RISK
    assert "Both branches claim epoch 1" in page.text


def test_redacted_values_stay_redacted_and_in_kafka_s_order(reported: Reported) -> None:
    secret = f"{REDACTED}0123456789abcdef"
    scram = {"name": "alice", "mechanism": 1, "salt": secret, "storedKey": secret}
    scram |= {"serverKey": secret, "iterations": 4096}
    rows = split(healed=True)
    for row in rows["bronze.log_records"]:
        assert isinstance(row, dict)
        if row["record_type"] == "TOPIC_RECORD":
            row["record_type"] = "USER_SCRAM_CREDENTIAL_RECORD"
            row["payload"] = small_lake.variant(scram)
    _, page = reported(rows)
    shown = (
        f'{{"name":"alice","mechanism":1,"salt":"{secret}","storedKey":"{secret}",'
        f'"serverKey":"{secret}","iterations":4096}}'
    )
    assert shown in page.text


def test_times_that_no_calendar_has_leave_the_rest_of_the_page_whole(reported: Reported) -> None:
    rows = split(healed=True)
    for row in (*rows["gold.leader_epoch_history"], *rows["bronze.log_records"]):
        assert isinstance(row, dict)
        row["started_at" if "started_at" in row else "timestamp"] = YEAR_199983
    report, page = reported(rows)
    assert report.clusters[0].leader_drawing is None
    assert "+199983-06-03T16:00:00Z" in page.text
    assert '{"name":"orders"' in page.text


def test_captures_that_came_after_the_last_build_are_named(reported: Reported) -> None:
    rows = together(split(healed=True), {"bronze.captures": [capture(1, 4, end=20)]})
    report, page = reported(rows)
    assert report.clusters[0].verdict.level is Level.ATTENTION
    assert "1 capture is not in the tables yet" in report.clusters[0].verdict.sentence
    assert "kraftlake build --lake" in page.text


def test_a_node_with_two_directories_is_named_by_both(reported: Reported) -> None:
    old = {**capture(1, 1), "directory_id": "oldOLDold"}
    report, page = reported({"bronze.captures": [old, capture(1, 2), capture(2, 2)]})
    assert "node 1 (oldOLD), observer: offsets 0 to 9" in page.text
    assert "node 2, observer: offsets 0 to 9" in page.text
    assert report.clusters[0].verdict.level is Level.ATTENTION


def test_damage_of_no_known_replica_is_on_the_page(reported: Reported) -> None:
    damage = {"file": "lost/00.log", "kind": "unidentified", "detail": "whose is it", "position": 0}
    _, page = reported({"bronze.captures": [capture(1, 1)], "bronze.damage": [damage]})
    assert "Files of no known node" in page.text
    assert "whose is it" in page.text


@pytest.mark.slow
def test_many_clusters_are_cut_and_one_can_be_chosen(tmp_path: Path) -> None:
    captures = [
        {**capture(1, 1), "cluster_id": f"cluster-{n:02}", "capture_id": f"capture-{n}"}
        for n in range(13)
    ]
    lake = small_lake.write_lake(tmp_path / "lake", {"bronze.captures": captures})
    report = report_of(lake)
    assert (len(report.clusters), report.more) == (10, 3)
    assert "and 3 more clusters" in read_page(render(report)).text
    assert [one.cluster_id for one in report_of(lake, "cluster-12").clusters] == ["cluster-12"]
    with pytest.raises(UsageError, match="--cluster nowhere: the lake has cluster-00, "):
        report_of(lake, "nowhere")


@pytest.mark.parametrize(
    ("missing", "step"),
    [
        ("bronze.log_records", "ingest"),
        ("silver.leader_epochs", "build"),
        ("gold.findings", "build"),
    ],
)
def test_a_lake_without_a_table_says_which_command_makes_it(
    tmp_path: Path, missing: str, step: str
) -> None:
    lake = small_lake.write_lake(tmp_path / "lake", {}, leave_out=[missing])
    with pytest.raises(UsageError) as refused:
        report_of(lake)
    assert str(refused.value) == (
        f"--lake {lake}: no {missing} in it; run `kraftlake {step} --lake {lake}` first"
    )


def test_a_lake_without_captures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no captures"):
        report_of(small_lake.write_lake(tmp_path / "lake", {}))
