"""`kraftlake history`: the changes of a topic, broker, principal or config, of two sources."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from jobs.cli.asking.about import About
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata

LOOKS = "kafka-4.1.1-dynamic"
SPLIT = f"{LOOKS}/split"
FIELDS = [
    "cluster_id",
    "at",
    "offset",
    "change",
    "entity",
    "name",
    "old",
    "new",
    "commitment",
]


@pytest.mark.parametrize(
    ("about", "entity", "name", "holds"),
    [
        (About(), "feature", "group.version", True),
        (About(topic="a"), "topic", "a", True),
        (About(topic="a"), "topic", "ab", False),
        (About(topic="a-1"), "partition", "a-1-0", True),
        (About(topic="a"), "partition", "a-1-0", False),
        (About(topic="a"), "config", "topic a: retention.ms", True),
        (About(topic="a"), "config", "broker a: retention.ms", False),
        (About(topic="a"), "acl", "User:u from * allowed Read on topic a", True),
        (About(topic="a"), "acl", "User:u from * allowed Read on topic a*", False),
        (About(broker=1), "broker", "broker 1", True),
        (About(broker=1), "broker", "broker 11", False),
        (About(broker=1), "config", "broker 1: log.cleaner.threads", True),
        (About(broker=1), "controller", "controller 1", False),
        (About(principal="User:u"), "acl", "User:u from * allowed Read on topic a", True),
        (About(principal="u"), "acl", "User:u from * allowed Read on topic a", True),
        (About(principal="Group:u"), "acl", "User:u from * allowed Read on topic a", False),
        (About(principal="u"), "scram", "u SCRAM-SHA-256", True),
        (About(principal="u"), "scram", "uu SCRAM-SHA-256", False),
        (About(principal="u"), "client_quota", "user u, client-id c: request_percentage", True),
        (About(principal="c"), "client_quota", "user u, client-id c: request_percentage", False),
        (About(principal="u"), "delegation_token", "User:u abc", True),
        (About(config="retention.ms"), "config", "topic a: retention.ms", True),
        (About(config="retention.ms"), "config", "topic a: local.retention.ms", False),
        (About(topic="a", config="x"), "config", "topic a: x", True),
        (About(topic="b", config="x"), "config", "topic a: x", False),
        (About(topic="a", broker=1), "topic", "a", False),
    ],
)
def test_a_change_belongs_to_the_entity_that_its_name_names(
    about: About, entity: str, name: str, holds: bool
) -> None:
    assert about.holds(entity, name) is holds
    kinds = about.entities()
    assert not holds or kinds is None or entity in kinds


@pytest.mark.usefixtures("recorded")
def test_text_cuts_registrations_and_shows_what_differs_between_two(kraftlake: Kraftlake) -> None:
    asked = ("history", "--broker", "11", f"{LOOKS}/final/1")
    lines = kraftlake(*asked).lines
    assert max(map(len, lines)) < 500
    rows = [row for row in kraftlake(*asked, "--json").rows if row["change"] == "broker_registered"]
    first, *later = rows
    assert max(len(row["new"]) for row in rows) > 500
    assert any(
        f"{first['new'][:100]}... ({len(first['new'])} characters; --json" in x for x in lines
    )
    told = [one for one in lines if "broker_registered" in one][1:]
    assert len(told) == len(later) > 0
    for line, row in zip(told, later, strict=True):
        epoch = json.loads(row["new"])["brokerEpoch"]
        assert f'"brokerEpoch":{epoch}' in line
        assert '"features"' not in line


@pytest.mark.usefixtures("recorded")
def test_the_history_of_a_topic_begins_with_its_creation(kraftlake: Kraftlake) -> None:
    ended = kraftlake("history", "--json", "--topic", "t-7-0", f"{SPLIT}/1")
    assert ended.code == 0
    assert ended.complaints == [
        "history: not given: the directory of voters 2 and 3, which may hold other or newer records"
    ]
    assert all(list(row) == FIELDS for row in ended.rows)
    assert [row["change"] for row in ended.rows[:3]] == [
        "topic_created",
        "config_set",
        "partition_created",
    ]
    assert {row["entity"] for row in ended.rows} <= {"topic", "partition", "config", "acl"}
    offsets = [row["offset"] for row in ended.rows]
    assert offsets == sorted(offsets)


@pytest.mark.usefixtures("recorded")
def test_changes_that_only_a_cut_off_leader_holds_are_superseded(kraftlake: Kraftlake) -> None:
    rows = kraftlake("history", "--json", "--from-time", "2026-11-21T03:19:46Z", SPLIT).rows
    lost = [row for row in rows if row["commitment"] == "superseded"]
    assert {row["offset"] for row in lost} <= set(range(1526, 1548))
    assert "topic_created" in {row["change"] for row in lost}
    assert {row["commitment"] for row in rows} == {"proven", "superseded"}


@pytest.mark.usefixtures("recorded")
def test_credentials_are_fingerprints_unless_they_are_asked_for(kraftlake: Kraftlake) -> None:
    asked = ("history", "--json", "--principal", "u6", f"{SPLIT}/1")
    (row,) = (row for row in kraftlake(*asked).rows if row["entity"] == "scram")
    assert '"salt":"***:' in row["new"]
    (row,) = (row for row in kraftlake(*asked, "--keep-secrets").rows if row["entity"] == "scram")
    assert '"salt":"KZb9HxktqkuWhwZdZ1Im0u60' in row["new"]


def test_a_secret_in_the_snapshot_before_is_a_fingerprint_too(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """The old value comes from the snapshot with which the replay begins."""
    node = Path(shutil.copytree(data / SPLIT / "3", tmp_path / "node"))
    folder = node / "__cluster_metadata-0"
    newest = max(folder.glob("*.log"))
    fields = {"name": "u6", "mechanism": 1}
    append(newest, metadata("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", **fields))
    shown = kraftlake("history", "--json", "--principal", "u6", node).rows[-1]
    assert (shown["change"], shown["new"]) == ("scram_credential_removed", None)
    assert '"salt":"***:' in shown["old"]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "history: name directories, or a lake by --lake or KRAFTLAKE_LAKE"),
        (["--lake", "lake", SPLIT], "PATH and --lake exclude each other: take one"),
        (["--lake", "lake", "--keep-secrets"], "--keep-secrets goes with PATH"),
        (["--from-time", "soon", SPLIT],
         "--from-time soon: neither ISO-8601, such as 2026-11-21T05:00:00Z, nor ms since 1970"),
    ],
)  # fmt: skip
def test_a_history_that_cannot_be_given_is_refused_in_one_line(
    kraftlake: Kraftlake, arguments: list[str], said: str
) -> None:
    ended = kraftlake("history", *arguments)
    assert (ended.code, ended.error) == (2, said)


@pytest.mark.parametrize(
    "about", [(), ("--topic", "t-7-0"), ("--broker", "11"), ("--config", "retention.ms")]
)
@pytest.mark.spark
def test_directories_and_a_lake_of_them_tell_the_same(
    kraftlake: Kraftlake, data: Path, built_lake: Path, about: tuple[str, ...]
) -> None:
    key = ("--redact-key", built_lake / "_redaction.key", "--order", "live,split,final")
    by_lake = kraftlake("history", "--json", "--lake", built_lake, *about)
    scenarios = [data / LOOKS, data / "kafka-3.7.2-static"]
    by_directories = kraftlake("history", "--json", *key, *about, *scenarios)
    assert by_directories.rows == by_lake.rows
    assert by_lake.rows


@pytest.mark.parametrize("name", ["lost-disks", "two-quorums"])
def test_where_logs_conflict_a_lake_says_as_little_is_proven_as_directories(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    nodes, lake = tmp_path / "nodes", tmp_path / "lake"
    write_capture(SCENARIOS_BY_NAME[name].capture(), str(nodes))
    assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    key = ("--redact-key", lake / "_redaction.key")
    told = kraftlake("history", "--json", *key, nodes).rows
    held = kraftlake("history", "--json", "--lake", lake).rows
    said = [{(row["offset"], row["commitment"]) for row in one} for one in (held, told)]
    assert said[0] == said[1], "a lake has one of two changes by one epoch at one offset"
    assert "unproven" in {word for _, word in said[0]}
    of_state = [kraftlake("state", *asked).complaints for asked in ((nodes,), ("--lake", lake))]
    conflicts = [
        [line.split(": this")[0] for line in one if "conflict" in line] for one in of_state
    ]
    assert conflicts[0] == conflicts[1]
    assert conflicts[0]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("kafka-4.1.1-dynamic/split",), {"superseded"}),
        (("kafka-4.4.0-dynamic/live/1",), {"unproven"}),
        (("kafka-4.1.1-dynamic/final",), set()),
    ],
)
def test_words_that_are_not_proven_have_a_legend(
    kraftlake: Kraftlake, paths: tuple[str, ...], words: set[str]
) -> None:
    rows = kraftlake("history", "--json", *paths)
    assert not [line for line in rows.complaints if "committed" in line]
    assert {row["commitment"] for row in rows.rows} - {"proven"} == words
    told = kraftlake("history", *paths).complaints
    assert {line.split(": ")[1] for line in told if "committed" in line} == words
