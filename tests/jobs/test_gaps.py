"""Where knowledge ends, commands say so; a name that nothing knows is an error, and an empty answer
says whether nothing happened."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from replica.doctor.timeline.branch import branches_of
from replica.doctor.timeline.state import end_at, last_time
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import (
    append,
    batches,
    metadata,
    segment,
)
from tests.replica.doctor.check.test_clock_steps import DAY_MS, moved_by
from tests.replica.doctor.timeline.test_branch import look
from tests.replica.metadata.image.made import TOPIC

DYNAMIC, STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
NODE = f"{DYNAMIC}/final/3"
VENDORS = b"\x01\xf5\x03\x00\x2a"
"""A record of type 501."""


@pytest.fixture
def node(recorded: Path, tmp_path: Path) -> Path:
    """The log from 0 to 3674; its newest segment begins at 2722."""
    return Path(shutil.copytree(recorded / NODE, tmp_path / "node"))


@pytest.fixture
def unread(node: Path) -> Path:
    """The same with a record that no release reads at offset 3674, and a topic behind it."""
    append(segment(node, 2722), VENDORS)
    append(segment(node, 2722), metadata("TOPIC_RECORD", name="after", topicId=TOPIC))
    return node


UNREAD = "nothing is known of offsets 3674 to 3675: record 3674: its type has the number 501"


@pytest.mark.parametrize("command", [("history", "--topic", "t-7-0"), ("timeline",)])
def test_a_command_says_at_which_record_its_knowledge_ends(
    kraftlake: Kraftlake, unread: Path, command: tuple[str, ...]
) -> None:
    ended = kraftlake(*command, unread)
    assert ended.code == 0
    assert any(line.startswith(f"{command[0]}: {UNREAD}") for line in ended.complaints)


def test_a_topic_behind_the_end_of_knowledge_is_not_called_unchanged(
    kraftlake: Kraftlake, unread: Path
) -> None:
    ended = kraftlake("history", "--topic", "after", unread)
    assert (ended.code, ended.out) == (2, "")
    assert UNREAD in ended.err
    assert "--topic after: no topic of that name" in ended.err
    state = kraftlake("state", unread)
    assert state.code == 2
    assert "is not known. Nothing is known of offsets 3674 to 3675" in state.err


def test_a_hole_in_the_log_is_where_knowledge_ends(kraftlake: Kraftlake, node: Path) -> None:
    sorted(node.glob("*/*.log"))[1].unlink()
    complaints = kraftlake("history", "--topic", "t-7-0", node).complaints
    assert [line for line in complaints if line.endswith("no directory holds these records")]


@pytest.mark.usefixtures("recorded")
def test_the_beginning_of_a_log_is_a_gap_and_so_is_a_voter_that_was_not_given(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("timeline", f"{STATIC}/final/3")
    told = "\n".join(ended.complaints)
    assert "timeline: the log begins at offset 519: earlier changes are not known" in told
    assert "timeline: not given: the directory of voters 1 and 2" in told
    (said,) = kraftlake("timeline", f"{DYNAMIC}/final").complaints
    assert "not listed: " in said


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--topic", "t-7-o"), "--topic t-7-o: no topic of that name; did you mean "),
        (("--broker", "7"), "--broker 7: no broker of that name; known are 11 and 12"),
        (
            ("--principal", "u111"),
            "--principal User:u111: no principal of that name; did you mean User:u1",
        ),
        (
            ("--principal", "alicia"),
            "--principal User:alicia: no principal of that name; known are User:",
        ),
        (("--config", "retention.msec"), "--config retention.msec: no config of that name; did"),
        (("--topic", "t-7-0", "--config", "x.y"), "--config x.y: no config of that name"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_ones(
    kraftlake: Kraftlake, asked: tuple[str, ...], said: str
) -> None:
    ended = kraftlake("history", *asked, NODE)
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaints[-1].startswith(f"kraftlake: error: {said}")


@pytest.mark.usefixtures("recorded")
def test_a_lake_refuses_the_same_names(kraftlake: Kraftlake, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert kraftlake("ingest", NODE, "--lake", lake, "--engine", "local", "--build").code == 0
    for asked in (("--topic", "t-7-o"), ("--broker", "7"), ("--config", "retention.msec")):
        ended = kraftlake("history", *asked, "--lake", lake)
        assert ended.complaints[-1] == kraftlake("history", *asked, NODE).complaints[-1]
        assert ended.code == 2
    empty = kraftlake("history", "--config", "log.cleaner.threads", "--lake", lake)
    assert empty.code == 0
    assert "nothing of what was asked for changed in what the lake knows" in empty.err


@pytest.mark.usefixtures("recorded")
def test_a_config_that_kafka_knows_and_nobody_set_is_an_empty_answer_that_says_so(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("history", "--config", "log.cleaner.threads", NODE)
    assert ended.code == 0
    told = "history: nothing of what was asked for changed in offsets 0 to 3673"
    assert told in ended.complaints
    quiet = kraftlake("timeline", "--from-time", "2030-01-01T00:00:00Z", NODE)
    assert "timeline: nothing of what was asked for happened in offsets 0 to 3673" in quiet.err


@pytest.mark.usefixtures("recorded")
def test_a_topic_of_the_state_is_told_apart_from_one_that_never_was(kraftlake: Kraftlake) -> None:
    ended = kraftlake("state", "--topic", "t-7-o", NODE)
    assert (ended.code, ended.out) == (2, "")
    assert "error: --topic t-7-o: no topic of that name; did you mean" in ended.complaints[-1]
    none = kraftlake("state", "--name", "nothing*", NODE)
    assert none.code == 0
    assert "state: no entity is as asked for" in none.complaints


def test_the_defaults_of_all_brokers_and_users_hold_for_one_too(
    kraftlake: Kraftlake, node: Path
) -> None:
    log = segment(node, 2722)
    of_all = {"resourceType": 4, "resourceName": "", "name": "num.io.threads"}
    append(log, metadata("CONFIG_RECORD", **of_all, value="4"))
    entity = ({"entityType": "user", "entityName": None},)
    quota = {"entity": entity, "key": "request_percentage", "value": 12.5, "remove": False}
    append(log, metadata("CLIENT_QUOTA_RECORD", **quota))
    rows = kraftlake("history", "--json", "--broker", "11", "--config", "num.io.threads", node).rows
    assert [(row["name"], row["new"]) for row in rows] == [
        ("broker <default>: num.io.threads", '"4"')
    ]
    rows = kraftlake("history", "--json", "--principal", "u1", node).rows
    assert "user <default>: request_percentage" in [row["name"] for row in rows]


@pytest.fixture
def jumped(node: Path) -> Path:
    """The clock stands a day ahead from offset 3656 to 3662."""
    moved_by(segment(node, 2722), 3656, 3662, DAY_MS)
    return node


def test_the_timeline_is_in_the_log_s_order_where_times_go_back(
    kraftlake: Kraftlake, jumped: Path
) -> None:
    log = segment(jumped, 2722)
    epoch = kraftlake("state", "--json", "--entity", "broker", "--name", "broker 11", jumped)
    broker = {"id": 11, "epoch": json.loads(epoch.rows[0]["value"])["brokerEpoch"]}
    append(log, metadata("UNFENCE_BROKER_RECORD", **broker), later_ms=DAY_MS)
    append(log, metadata("FENCE_BROKER_RECORD", **broker), later_ms=-DAY_MS + 100)
    ended = kraftlake("timeline", "--json", jumped)
    assert [row["event"] for row in ended.rows[-2:]] == ["broker_unfenced", "broker_fenced"]
    beside = ("snapshot", "divergence", "histories_part", "truncation")
    offsets = [row["offset"] for row in ended.rows if row["event"] not in beside]
    assert offsets == sorted(offsets)
    assert any("times go back at offset 3663" in line for line in ended.complaints)
    assert any("; at offset 3675, from" in line for line in ended.complaints)
    text = kraftlake("timeline", jumped)
    assert text.lines[1].startswith("Times go back at offset 3663, from ")
    assert not any("times go back" in line for line in text.complaints)
    page = kraftlake("what-happened", jumped).lines
    told = [line.split("UTC  ")[1] for line in page if "fenced: broker 11" in line]
    assert told[-2].startswith("broker unfenced: broker 11 came back after a restart")
    assert re.fullmatch(
        "broker fenced: broker 11 was last seen alive in the log before, at offset [0-9]+", told[-1]
    ), "the clock went back meanwhile"


def test_a_moment_that_the_log_holds_is_not_behind_its_end(
    kraftlake: Kraftlake, jumped: Path
) -> None:
    (branch,) = branches_of([look(str(jumped))])
    newest = max(one.header.max_timestamp for one in batches(segment(jumped, 2722)))
    assert last_time(branch) == newest
    assert end_at(branch, newest) == 3674
    ended = kraftlake("state", "--at-time", str(newest), "--entity", "broker", jumped)
    assert ended.code == 0
    assert any("times go back at offset 3663" in line for line in ended.complaints)
    assert "times go back" not in kraftlake("state", "--entity", "broker", jumped).err


@pytest.mark.parametrize(
    "command",
    [
        ("state", "--entity", "feature"),
        ("state", "--sizes"),
        ("history", "--topic", "t-7-0"),
        ("timeline",),
    ],
    ids=" ".join,
)
def test_voters_that_were_not_given_are_named_in_one_line(
    kraftlake: Kraftlake, node: Path, data: Path, command: tuple[str, ...]
) -> None:
    """A divergence shows only between logs, so one directory may hold an older state."""
    alone = [line for line in kraftlake(*command, node).complaints if "not given" in line]
    assert len(alone) == 1
    assert alone[0].startswith(f"{command[0]}: not given: the directory of voters 1 and 2")
    whole = kraftlake(*command, data / DYNAMIC / "final")
    assert not [line for line in whole.complaints if "not given" in line]


def test_an_exposure_says_on_stdout_that_voters_it_counts_were_not_given(
    kraftlake: Kraftlake, node: Path, data: Path
) -> None:
    alone = kraftlake("state", "--exposure", node)
    (counted,) = [line for line in alone.lines if line.startswith("voters_left    counts")]
    assert counted.endswith("; no directory of voters 1 and 2 was given")
    assert "given" not in alone.err
    assert "given" not in kraftlake("state", "--exposure", data / DYNAMIC / "final").out


def test_what_happened_says_what_is_not_known_on_its_page(
    kraftlake: Kraftlake, node: Path, data: Path
) -> None:
    alone = kraftlake("what-happened", node).lines
    (missing,) = alone[alone.index("What is not known:") + 1 :]
    assert missing.startswith("  not given: the directory of voters 1 and 2")
    (gap,) = [
        row for row in kraftlake("what-happened", "--json", node).rows if row["kind"] == "gap"
    ]
    assert gap["detail"] == missing.strip()
    assert "What is not known:" not in kraftlake("what-happened", data / DYNAMIC / "final").out


def test_brokers_without_a_directory_are_named_where_some_brokers_were_given(
    kraftlake: Kraftlake, data: Path
) -> None:
    """Who gives no broker at all asks about the quorum."""
    of_quorum = [data / DYNAMIC / "final" / one for one in "123"]
    broker = data / DYNAMIC / "final/11"
    sentence = "not given: the directory of broker 12, so its disks were not judged"
    assert sentence in kraftlake("check", *of_quorum, broker).lines
    assert f"  {sentence}" in kraftlake("what-happened", *of_quorum, broker).lines
    assert "not given" not in kraftlake("check", *of_quorum).out
