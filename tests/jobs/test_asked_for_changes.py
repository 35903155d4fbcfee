"""What people ask for first in an incident: who changed what of late, and which node is behind."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from replica.doctor.timeline.asked_for import DAY_MS, HOUR_MS, AskedForChanges
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.timeline.test_events import (
    change,
    directory_of,
    partition,
    record,
    registers,
)
from tests.replica.metadata.image.made import TOPIC

AGAIN = "AAAAAAAAAAAAAAAAAAAAFQ"
DYNAMIC = "kafka-4.1.1-dynamic"


@pytest.fixture
def node(tmp_path: Path, data: Path) -> Path:
    """A recorded node, for records to be appended."""
    return Path(shutil.copytree(data / DYNAMIC / "final/3", tmp_path / "node"))


def test_the_last_hour_and_day_are_those_before_the_logs_end() -> None:
    taken, end = AskedForChanges(), 10 * DAY_MS
    for what, age in (
        ("config_set", 0),
        ("config_removed", HOUR_MS),
        ("topic_created", HOUR_MS + 1),
        ("acl_created", DAY_MS + 1),
    ):
        taken.take(what, end - age)
    assert [*taken.recently(end)] == [
        "2 changes (2 of configs) in the log's last hour",
        "3 changes (2 of configs and 1 of topics) in the last 24 hours",
    ]
    assert [*taken.recently(end + DAY_MS + 1)] == []
    assert taken.earlier(end) == 0, "no pattern names the ACL"
    taken.take("topic_created", end - DAY_MS - 1)
    assert taken.earlier(end) == 1


def test_what_happened_counts_the_changes_and_says_who_is_behind(
    kraftlake: Kraftlake, data: Path
) -> None:
    told = kraftlake("what-happened", data / DYNAMIC / "final").lines
    (changes,) = (line for line in told if line.startswith("changes "))
    assert re.search(r"[0-9]+ changes \([0-9]+ of topics.*in the log's last hour", changes)
    assert "`kraftlake timeline --event 'topic_*' --event 'config_*' " in changes
    assert "no log says who made them" in changes
    deleted = [line for line in told if " UTC  topic deleted: " in line]
    assert len(deleted) == 3, "of many changes the latest deletions are told first"
    assert "hour: among them topic deleted: after-700-11; topic deleted: add-" in changes
    split = kraftlake("what-happened", data / DYNAMIC / "split").lines
    (behind,) = (line for line in split if line.startswith("behind "))
    assert re.search("node 2 by [0-9]+ records?, [0-9.]+ s", behind)


def test_check_says_of_each_directory_how_far_it_is_behind(
    kraftlake: Kraftlake, data: Path
) -> None:
    """Of node 2 and 11 the log parts: their own records after that are not counted as progress."""
    ended = kraftlake("check", "--json", data / DYNAMIC / "split")
    rows = {row["node_id"]: row for row in ended.rows[-1]["summary"]["directories"]}
    newest = max(row["log_end_offset"] for row in rows.values() if row["epoch"] == 6)
    for node, end in ((1, rows[1]["log_end_offset"]), (2, 1526), (11, 1526)):
        assert rows[node]["lag_records"] == newest - end
        assert (rows[node]["lag_ms"] > 0) == (end < newest)


@pytest.mark.parametrize("kind", ["config_*", "topic_created"])
def test_timeline_lists_such_changes_where_they_are_asked_for_and_counts_them_else(
    kraftlake: Kraftlake, data: Path, kind: str
) -> None:
    node = data / DYNAMIC / "final/1"
    rows = kraftlake("timeline", "--json", "--event", kind, node).rows
    listed = kraftlake("history", "--json", node).rows
    wanted = [row for row in listed if re.fullmatch(kind.replace("*", ".*"), row["change"])]
    assert [(row["event"], row["offset"]) for row in rows] == [
        (row["change"], row["offset"]) for row in wanted
    ]
    for row, one in zip(rows, wanted, strict=True):
        new = json.loads(one["new"]) if kind == "config_*" and one["new"] else None
        assert new is None or row["detail"].endswith(
            f"{'now' if one['old'] is None else '->'} {new}"
        )
    (said,) = (one for one in kraftlake("timeline", node).complaints if "not listed" in one)
    assert "`kraftlake history " in said


def test_a_topic_that_was_deleted_and_made_again_is_in_the_first_lines(
    kraftlake: Kraftlake, node: Path
) -> None:
    """Nothing is broken, and all records of the topic are gone."""
    record(node, "TOPIC_RECORD", later_ms=2 * HOUR_MS, name="moved", topicId=TOPIC)
    record(node, "REMOVE_TOPIC_RECORD", later_ms=1000, topicId=TOPIC)
    record(node, "TOPIC_RECORD", later_ms=1000, name="moved", topicId=AGAIN)
    for number in range(5):
        fields = {"resourceType": 2, "resourceName": "moved", "name": f"a.{number}", "value": "1"}
        record(node, "CONFIG_RECORD", later_ms=1000, **fields)
    lines = kraftlake("what-happened", node).lines
    begin = lines.index("What happened:") + 1
    deleted, again = (line[31:] for line in lines[begin : begin + 5] if ": moved" in line)
    assert deleted.startswith("topic deleted: moved (offset ")
    assert again.startswith("topic recreated: moved (offset ")
    newest = [line[31:] for line in kraftlake("timeline", node).lines[:10]]
    told = [one for one in newest if one.endswith(" moved")]
    assert told == ["topic_deleted moved", "topic_recreated moved"]


def test_the_few_latest_changes_are_told_one_by_one_with_those_of_one_request_together(
    kraftlake: Kraftlake, node: Path
) -> None:
    """A topic that was deleted may be the whole incident, and no check finds a fault."""
    configs = {"resourceType": 2, "resourceName": "moved"}
    record(node, "TOPIC_RECORD", later_ms=2 * HOUR_MS, name="moved", topicId=TOPIC)
    for name, later_ms in (("retention.ms", 1000), ("segment.ms", 0), ("segment.bytes", 2000)):
        fields = {**configs, "name": name, "value": "60000"}
        record(node, "CONFIG_RECORD", later_ms=later_ms, **fields)
    record(node, "REMOVE_TOPIC_RECORD", topicId=TOPIC)
    rows = kraftlake("what-happened", "--json", node).rows
    recent = [row for row in rows if row["kind"] == "event" and row["offset"] >= 3674]
    assert [(row["event"], row["name"], row["detail"]) for row in recent] == [
        ("config_set", "topic moved: retention.ms and topic moved: segment.ms", ""),
        ("config_set", "topic moved: segment.bytes", "now 60000"),
        ("topic_deleted", "moved", ""),
    ]
    told = kraftlake("what-happened", node).lines
    assert any(line.endswith("  topic deleted: moved (offset 3678)") for line in told)
    (changes,) = (line for line in told if line.startswith("changes "))
    named = changes.partition(" among them ")[2]
    assert named.startswith("topic deleted: moved; config set: topic moved: segment.bytes now ")
    ended = kraftlake("state", "--topic", "moved", node)
    assert (ended.code, ended.out) == (2, "")
    assert "--topic moved: it was deleted at offset 3678, " in ended.err
    assert "`kraftlake history --topic moved` with the same directories" in ended.err


def test_a_deleted_acl_stands_in_the_first_lines_and_the_configs_of_a_new_topic_do_not(
    kraftlake: Kraftlake, node: Path
) -> None:
    """The users of a healthy cluster may be refused because of it."""
    acl = {
        "resourceType": 2, "resourceName": "orders", "patternType": 3, "principal": "User:ann",
        "host": "*", "operation": 3, "permissionType": 3,
    }  # fmt: skip
    given = "A" * 22
    record(node, "ACCESS_CONTROL_ENTRY_RECORD", later_ms=2 * HOUR_MS, id=given, **acl)
    record(node, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", later_ms=1000, id=given)
    record(node, "TOPIC_RECORD", later_ms=2000, name="new", topicId=TOPIC)
    config = {"resourceType": 2, "resourceName": "new", "name": "retention.ms", "value": "60000"}
    record(node, "CONFIG_RECORD", later_ms=0, **config)
    told = kraftlake("what-happened", node).lines
    (changes,) = (line for line in told if line.startswith("changes "))
    deleted = "ACL deleted: User:ann from * allowed Read on topic orders"
    assert f" among them {deleted}; `kraftlake timeline " in changes
    assert any(f"  {deleted} (offset 3675)" in line for line in told)


def test_unclean_elections_stand_in_the_first_lines_with_their_time(
    kraftlake: Kraftlake, node: Path
) -> None:
    """Who lost data asks for them, and the verdict is about the partitions without leader."""
    registers(node, directory_of(21))
    record(node, "TOPIC_RECORD", name="moved", topicId=TOPIC)
    partition(node, 0, directory_of(21), replicas=(21, 22), directories=())
    change(node, 0, leader=21, leaderRecoveryState=1)
    told = kraftlake("what-happened", node).lines
    (unclean,) = (line for line in told if line.startswith("unclean "))
    assert any("  unclean election: broker 21 elected uncleanly" in line for line in told[:10])
    assert "UTC: broker 21 elected uncleanly: moved-0; any record " in unclean
