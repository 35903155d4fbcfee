"""The first page: when, impact and confidence in plain words; what is folded and what grouped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.report.activity import OTHER, group_of
from pipelines.report.summary import HIGH, LIMITED, outages
from pipelines.report.travel.steps import Followed, Move, ReportSteps
from pipelines.report.view import NextStep
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.health.min_isrs import MIN_ISR
from tests.pipelines.report.incidents import split
from tests.pipelines.report.journeys import TOPIC_ID, broker, journey, partition, version
from tests.pipelines.report.pages import Reported, change
from tests.pipelines.report.small_lake import CLUSTER, at, capture, epoch, replica, together

_FACT = {"severity": "error", "text": "It is so."}


def test_the_first_page_says_when_it_was_and_what_it_did(reported: Reported) -> None:
    report, page = reported(journey())
    told = report.clusters[0].summary
    assert told.when == (
        "Records that node 2 lost, or would lose, were written 2026-01-02 03:04:15 to 03:04:16 "
        "UTC.",
        "They were seen to be gone in 2026-01-02 03:09:05 UTC.",
        "Since 2026-01-02 03:04:18 UTC there have always been partitions without leader, up to 1 "
        "of them.",
        "The captures tell of 2 leader epochs; in the newest, 2, node 3 led from 2026-01-02 "
        "03:04:15 UTC on; the log ends at 2026-01-02 03:04:19 UTC, and whether that node still "
        "leads isn't known.",
    )
    assert told.impact[:2] == (
        "Since 2026-01-02 03:04:18 UTC nobody can write to or read from partitions that have no "
        "leader: up to 1 of 2.",
        "2 records of the metadata log were lost, or will be, that no client ever saw accepted.",
    )
    assert all(one in page.text for one in (*told.when, *told.impact, *told.confidence))


def test_confidence_is_high_where_every_voter_was_captured_and_all_is_known(
    reported: Reported,
) -> None:
    report, _ = reported(journey())
    told = report.clusters[0].summary
    assert told.certainty == HIGH
    assert told.confidence[0] == "The logs of all 3 voters were captured."


def test_a_limited_confidence_names_its_reason(reported: Reported) -> None:
    rows = split(healed=True)
    for table in rows.values():
        table[:] = [row for row in table if row.get("node_id") != 3]
    for row in rows["gold.truncations"]:
        assert isinstance(row, dict)
        row |= {"superseded_lost": 0, "unproven_lost": 2}
    rows["bronze.damage"] = [{"capture_id": "capture-1-3", "file": "a.log", "kind": "framing"}]
    report, _ = reported(rows)
    told = report.clusters[0].summary
    assert told.certainty == LIMITED
    assert told.confidence == (
        "Voters that nobody captured: 3. What their logs hold is not known.",
        "1 place of the files could not be read.",
        "Nothing proves whether 2 records were committed.",
    )


def test_refused_writes_that_are_over_name_their_broker_and_what_to_look_at(
    reported: Reported,
) -> None:
    """Users ask why their writes failed, and no check finds a fault."""
    of, name = f"{TOPIC_ID}:0", "orders-0"
    least = {"resourceType": 2, "resourceName": "orders", "name": MIN_ISR, "value": "2"}
    up, topic = broker(12, fenced=False), {"name": "orders", "topicId": TOPIC_ID}
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.state_ranges": [{"cluster_id": CLUSTER, "from_offset": 0, "to_offset": 15}],
        "gold.metadata_changes": [change("topic_created", 1, key=TOPIC_ID, name="orders")],
        "gold.metadata_history": [
            version("topic", TOPIC_ID, "orders", topic, (1, None)),
            version("config", json.dumps([2, "orders", MIN_ISR]), "orders", least, (1, None)),
            version("broker", "12", "broker 12", up, (1, 5)),
            version("broker", "12", "broker 12", broker(12, fenced=True), (5, 8)),
            version("broker", "12", "broker 12", up, (8, None)),
            version("partition", of, name, partition(11, [11, 12]), (2, 5)),
            version("partition", of, name, partition(11, [11]), (5, 9)),
            version("partition", of, name, partition(11, [11, 12]), (9, None)),
        ],
        "gold.verdicts": [{"level": "healthy", "facts": [], "next_steps": [], "not_judged": []}],
    }
    report, page = reported(rows)
    told = report.clusters[0].summary
    assert told.refused.startswith(
        "writes with acks=all to orders-0 from 2026-01-02 03:04:10 UTC until 2026-01-02 03:04:14 "
        "UTC (4.0 s): too few replicas were in sync, those on broker 12 were missing."
    )
    assert told.refused_step.startswith("Look at broker 12: it missed its heartbeats and was")
    assert "came back without a restart" in told.refused_step
    assert told.refused_step in page.text
    assert "asks for anything" not in page.text


def test_where_something_was_not_judged_nothing_is_said_to_be_all_right(
    reported: Reported,
) -> None:
    """voter 2 wasn't captured; of some gaps nobody knows how to close them."""
    add = "Add the directory of node 2, if its disk can still be read: logs are compared."
    gaps = [
        {"what": "1 of 3 voters (node 2)", "why": "its directory was not given", "next_step": add},
        {"what": "the state behind offset 7", "why": "nobody knows it", "next_step": ""},
    ]
    rows = {
        "bronze.captures": [capture(1, 1), capture(3, 1)],
        "gold.failure_exposure": [{"kind": "nothing", "leaderless": 0, "has_majority": True}],
        "gold.verdicts": [
            {"level": "incomplete", "facts": [], "next_steps": [add], "not_judged": gaps}
        ],
    }
    report, page = reported(rows)
    told = report.clusters[0].summary
    assert told.certainty == LIMITED
    assert told.confidence[:2] == (
        "1 of 3 voters (node 2) can't be judged, because its directory was not given.",
        "The state behind offset 7 can't be judged, because nobody knows it.",
    )
    assert told.impact[1:] == (
        "No lost change of the cluster was seen. Whether one was lost is not known: see "
        "Confidence.",
        "In the newest state that is known all partitions have a leader, and no rule about this "
        "state warns.",
    )
    assert add in page.text
    assert "asks for anything" not in page.text


def test_what_closes_a_gap_stands_beside_it_where_there_is_more_to_do(reported: Reported) -> None:
    give = "Give the brokers' file: --broker-config server.properties."
    gap = {"what": "whether partitions refuse writes", "why": "nobody knows", "next_step": give}
    fact = {**_FACT, "level": "outage", "next_step": "Start broker 11.", "rules": []}
    said = {"level": "outage", "facts": [fact], "next_steps": ["Start broker 11."]}
    rows = {"bronze.captures": [capture(1, 1)], "gold.verdicts": [said | {"not_judged": [gap]}]}
    report, _ = reported(rows)
    assert report.clusters[0].summary.confidence[0] == (
        f"Whether partitions refuse writes can't be judged, because nobody knows. {give}"
    )


def test_where_nothing_closes_a_gap_no_step_is_known(reported: Reported) -> None:
    gap = {"what": "the state behind offset 7", "why": "nobody knows it", "next_step": ""}
    verdict = {"level": "incomplete", "facts": [], "next_steps": [], "not_judged": [gap]}
    _, page = reported({"bronze.captures": [capture(1, 1)], "gold.verdicts": [verdict]})
    assert "No step is known that tells what could not be judged." in page.text
    assert "asks for anything" not in page.text


def test_the_steps_are_those_of_the_verdict_in_its_order(reported: Reported) -> None:
    """Also where a rule has another step for all clusters, as before a start that truncates."""
    found = {**replica(1), "capture_id": "capture-1-1", "file": "", "message": "1 of 9"}
    bad = {"rule": "partition-without-leader", "severity": "error", "family": "health"}
    behind = {"rule": "voter-behind", "severity": "warning", "family": "files"}
    steps = ("First copy the folders.", "Node 2: start it.", "Add the directory of node 3.")
    facts = [
        {**_FACT, "level": "outage", "next_step": steps[0], "rules": [bad["rule"]]},
        {**_FACT, "level": "attention", "next_step": steps[1], "rules": [behind["rule"]]},
    ]
    rows: dict[str, Any] = {
        "bronze.captures": [capture(1, 1)],
        "gold.findings": [{**found, **bad}, {**found, **behind}],
        "gold.verdicts": [{"level": "outage", "facts": facts, "next_steps": [*steps]}],
    }
    report, page = reported(rows)
    assert report.clusters[0].next_steps == (
        NextStep(steps[0], ((bad["rule"], f"c1-health-{bad['rule']}"),)),
        NextStep(steps[1], ((behind["rule"], f"c1-rule-{behind['rule']}"),)),
        NextStep(steps[2], ()),
    )
    places = [page.text.index(step) for step in steps]
    assert places == sorted(places)
    assert RULES_BY_ID[bad["rule"]].next_step not in page.text[: places[-1]]


def test_a_lake_without_a_verdict_says_that_no_step_is_known(reported: Reported) -> None:
    _, page = reported({"bronze.captures": [capture(1, 1)]})
    assert "the lake has no verdict on this cluster. kraftlake build makes it." in page.text


def test_where_all_was_judged_and_nothing_is_wrong_nothing_is_to_be_done(
    reported: Reported,
) -> None:
    rows = {
        "bronze.captures": [capture(node, 1) for node in (1, 2, 3)],
        "silver.leader_epochs": [epoch(node, 1, 1, 0, 10, 1) for node in (1, 2, 3)],
        "gold.verdicts": [{"level": "healthy", "facts": [], "next_steps": []}],
    }
    report, page = reported(rows)
    assert "No change of the cluster was lost." in report.clusters[0].summary.impact
    assert "No finding in the newest captures asks for anything." in page.text


def test_impact_tells_how_the_cluster_is_now_and_what_one_more_failure_takes(
    reported: Reported,
) -> None:
    bad = {"rule": "no-eligible-leader", "severity": "error", "family": "health"}
    finding = {**replica(1), **bad, "capture_id": "capture-1-1", "file": "", "message": "1 of 9"}
    finding["subjects"] = json.dumps(
        [{"name": f"orders-{one}", "what": "", "offset": 1} for one in (0, 1)]
    )
    fact = {
        "level": "outage", "severity": "error", "next_step": "", "rules": ["no-eligible-leader"],
        "text": "2 partitions (topic orders) have no leader.",
    }  # fmt: skip
    exposed: list[dict[str, Any]] = [
        {"kind": "nothing", "leaderless": 4, "has_majority": True},
        {"kind": "pair", "gone": "11,12", "leaderless": 9, "has_majority": False},
    ]
    report, page = reported(
        {
            "bronze.captures": [capture(1, 1)],
            "gold.findings": [finding],
            "gold.failure_exposure": exposed,
            "gold.verdicts": [{"level": "outage", "facts": [fact]}],
        }
    )
    told = report.clusters[0].summary.impact
    headline = report.clusters[0].verdict.headline
    assert headline == "2 partitions (topic orders) have no leader."
    assert headline in page.text
    assert told[-1] == (
        "If brokers 11 and 12 failed now, 9 partitions would be without leader (4 already are) and "
        "the quorum would have no majority."
    )


def test_what_one_failure_takes_is_not_hidden_by_two_brokers_nor_by_the_quorum(
    reported: Reported,
) -> None:
    """The failure of voter 3 adds nothing that isn't lost already, and broker 12 takes most."""
    exposed: list[dict[str, Any]] = [
        {"kind": "nothing", "leaderless": 2, "has_majority": True},
        {"kind": "voter", "gone": "1", "leaderless": 2, "has_majority": False},
        {"kind": "voter", "gone": "3", "leaderless": 2, "has_majority": True},
        {"kind": "broker", "gone": "12", "leaderless": 9, "has_majority": True},
        {"kind": "pair", "gone": "11,12", "leaderless": 12, "has_majority": True},
    ]
    rows = {"bronze.captures": [capture(1, 1)], "gold.failure_exposure": exposed}
    report, _ = reported(rows)
    assert report.clusters[0].summary.impact[-2:] == (
        "If broker 12 failed now, 9 partitions would be without leader (2 already are).",
        "If voter 1 failed now, the quorum would have no majority.",
    )
    assert "voter 3" not in " ".join(report.clusters[0].summary.impact), "it adds nothing"


def test_moved_replicas_are_told_and_an_outage_may_be_older_than_the_fencing(
    reported: Reported,
) -> None:
    key, topic = f"{TOPIC_ID}:1", "orders-1"
    rows = journey()
    rows["gold.metadata_history"] = [
        row if row["key"] != "11" else {**row, "valid_from": at(13)} if row["valid_to"] is None
        else {**row, "valid_to": at(13)}
        for row in rows["gold.metadata_history"] if row["key"] != key
    ]  # fmt: skip
    rows["gold.metadata_changes"] = [
        one for one in rows["gold.metadata_changes"] if one["offset"] != 12
    ]
    values = partition(12, [11, 12], 1), partition(12, [12, 13], 1, replicas=[12, 13])
    spans = (5, 14), (14, None)
    rows["gold.metadata_history"] += [
        version("partition", key, topic, value, span)
        for value, span in zip(values, spans, strict=True)
    ]
    report, _ = reported(rows)
    outage, moves, _ = report.clusters[0].summary.when[-3:]
    assert outage.endswith(
        "up to 1 of them; the outage may have begun earlier: by default a broker is fenced 9 s or "
        "more after its last heartbeat."
    )
    assert "of 1 partition were moved at " in moves
    assert moves.endswith(": orders-1: 11 and 12 -> 12 and 13.")


def test_changes_are_grouped_by_what_they_are_about(reported: Reported) -> None:
    kinds = {"isr_changed": "partition", "leader_changed": "partition", "acl_created": "acl"}
    changes = [change(kind, at, entity=of) for at, (kind, of) in enumerate(kinds.items())]
    report, page = reported(together(split(), {"gold.metadata_changes": changes}))
    found = {
        group.name: [kind.name for kind in group.kinds] for group in report.clusters[0].activity
    }
    assert found == {
        "Partitions": ["isr_changed", "leader_changed"],
        "Users, ACLs, quotas and tokens": ["acl_created"],
    }
    assert "3 kinds as a table" in page.text
    told = [group_of(one) for one in ("PARTITION_CHANGE_RECORD", "LEADER_CHANGE", "NO_OP_RECORD")]
    assert told == ["Partitions", "Quorum, features and ids", OTHER]


def test_snapshots_are_folded_where_all_is_well_and_open_where_one_is_not(
    reported: Reported,
) -> None:
    judged = {**replica(1), "capture_id": "capture-1-1", "epoch": 1, "cluster_id": CLUSTER}
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.snapshot_validity": [{**judged, "end_offset": 5, "verdict": "valid"}],
    }
    _, page = reported(rows)
    assert "1 snapshot : all is well with it" in page.text or "1 snapshot: all is" in page.text
    assert [tag for tag in page.named("details") if "open" in tag] == []


def test_an_unsound_snapshot_is_not_folded(reported: Reported) -> None:
    judged = {**replica(1), "capture_id": "capture-1-1", "epoch": 1, "cluster_id": CLUSTER}
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.snapshot_validity": [
            {**judged, "end_offset": 5, "verdict": "valid"},
            {**judged, "end_offset": 7, "verdict": "invalid"},
        ],
    }
    _, page = reported(rows)
    assert "2 snapshots, 1 of them not valid" in page.text
    assert len([tag for tag in page.named("details") if "open" in tag]) == 1


LED, ALONE = (1, (1,), (1,), (), (), (), 0), (-1, (), (1,), (), (), (), 0)


def _steps(*moves: Move, count: int) -> ReportSteps:
    """Steps a second apart, at which partitions get and lose their leaders."""
    followed = Followed(["a-0", "a-1"], [LED, ALONE], list(moves))
    times = tuple(1000 * step for step in range(count))
    return ReportSteps(tuple(range(count)), times, (), followed, Followed())


def test_each_time_without_leader_is_an_outage_of_its_own() -> None:
    steps = _steps(
        Move(0, 0, -1, 0), Move(0, 1, -1, 0), Move(2, 0, 0, 1), Move(4, 0, 1, 0),
        Move(7, 0, 0, 1), Move(8, 1, 0, 1), Move(9, 0, 1, 0), Move(9, 1, 1, 0), count=12,
    )  # fmt: skip
    found = outages(steps)
    assert [(one.since_ms, one.until_ms, one.most, one.of) for one in found] == [
        (2000, 4000, 1, 2), (7000, 9000, 2, 2),
    ]  # fmt: skip
    assert all(one.is_over for one in found)


def test_an_outage_that_lasts_has_no_end_and_says_since_when() -> None:
    steps = _steps(
        Move(0, 0, -1, 0), Move(0, 1, -1, 0), Move(2, 0, 0, 1), Move(4, 0, 1, 0),
        Move(6, 0, 0, 1), Move(8, 1, 0, 1), count=9,
    )  # fmt: skip
    assert [(one.since_ms, one.until_ms) for one in outages(steps)] == [(2000, 4000), (6000, None)]


@pytest.mark.parametrize(
    ("others_hold", "branch_epoch", "others_keep"), [(True, 1, True), (True, 2, False),
                                                     (False, 1, False)],
)  # fmt: skip
def test_a_copy_that_went_back_is_told_as_a_copy_where_others_keep_the_records(
    reported: Reported, others_hold: bool, branch_epoch: int, others_keep: bool
) -> None:
    """Node 2 went back behind offsets 8 and 9, which all had. Nodes 1 and 3 keep them where they
    hold them still, and the quorum goes on with them: branch_epoch is of the branch there."""
    rows = split(healed=True)
    for row in rows["gold.truncations"]:
        assert isinstance(row, dict)
        row |= {"from_offset": 8, "to_offset": 10, "committed_lost": 2, "superseded_lost": 0}
    branch = {"cluster_id": CLUSTER, "leader_epoch": branch_epoch, "crc": 1000 + branch_epoch}
    rows["silver.committed_log"] = [{**branch, "offset": offset} for offset in (8, 9)]
    if not others_hold:
        held = rows["bronze.log_batches"]
        rows["bronze.log_batches"] = [row for row in held if row["node_id"] == 2]
    report, _ = reported(rows)
    impact = report.clusters[0].summary.impact
    assert any("which other nodes keep" in one for one in impact) is others_keep
    assert any("clients saw them" in one for one in impact) is not others_keep


@pytest.mark.parametrize(
    ("rules", "runbook"),
    [
        (["stale-voter", "log-divergence"], "disk-that-forgot"),
        (["endless-elections"], "endless-elections"),
        (["orphan-topic-configs"], None),
    ],
)
def test_the_report_names_the_runbook_of_the_verdict(
    reported: Reported, rules: list[str], runbook: str | None
) -> None:
    fact = {"level": "at-risk", "severity": "error", "text": "It is so.", "rules": rules}
    verdict = {"level": "at-risk", "facts": [{**fact, "next_step": ""}]}
    report, page = reported({"bronze.captures": [capture(1, 1)], "gold.verdicts": [verdict]})
    assert [one.runbook for one in report.clusters] == [runbook]
    assert ("kraftlake explain --runbook" in page.text) == (runbook is not None)
