"""`kraftlake state` of directories, and which entities it shows."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment

NODE = "kafka-4.1.1-dynamic/split/1"
STATIC = "kafka-3.7.2-static"
FIELDS = ["entity", "key", "value", "offset"]
ALONE = ["state: not given: the directory of voters 2 and 3, which may hold other or newer records"]


@pytest.mark.usefixtures("recorded")
def test_the_state_of_a_directory_is_that_below_the_offset(kraftlake: Kraftlake) -> None:
    ended = kraftlake("state", "--json", "--at-offset", "36", NODE)
    assert (ended.code, ended.complaints) == (0, [*ALONE, "state: up to offset 35"])
    assert all(list(row) == FIELDS for row in ended.rows)
    (topic,) = (row for row in ended.rows if row["entity"] == "topic")
    assert (json.loads(topic["value"])["name"], topic["offset"]) == ("t-7-0", 35)
    earlier = kraftlake("state", "--json", "--at-offset", "35", NODE).rows
    assert [row for row in ended.rows if row not in earlier] == [topic]


@pytest.mark.usefixtures("recorded")
def test_a_time_is_the_state_after_its_last_record(kraftlake: Kraftlake) -> None:
    at_time = kraftlake("state", "--json", "--at-time", "2026-11-21T03:18:59.178Z", NODE)
    assert at_time.complaints == [*ALONE, "state: up to offset 34"]
    assert at_time.rows == kraftlake("state", "--json", "--at-offset", "35", NODE).rows


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        (("--topic", "t-7-0"), {"topic", "partition", "config"}),
        (("--topic", "t-7-0", "--entity", "conf*"), {"config"}),
        (("--entity", "broker", "--entity", "controller"), {"broker", "controller"}),
        (("--name", "broker 11"), {"broker"}),
        (("--name", "broker 11", "--entity", "topic"), set()),
    ],
)
def test_only_entities_that_all_filters_hold_are_shown(
    kraftlake: Kraftlake, filters: tuple[str, ...], kinds: set[str]
) -> None:
    rows = kraftlake("state", "--json", *filters, NODE).rows
    assert {row["entity"] for row in rows} == kinds


def test_entities_from_a_snapshot_have_no_offset(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / STATIC / "split/3", tmp_path / "node"))
    rows = kraftlake("state", "--json", "--at-offset", "519", node).rows
    assert rows
    assert {row["offset"] for row in rows} == {None}
    later = kraftlake("state", "--json", node).rows
    assert {row["offset"] is None for row in later} == {True, False}
    assert min(row["offset"] or 519 for row in later) >= 519


def test_a_state_behind_a_hole_is_refused(kraftlake: Kraftlake, data: Path, tmp_path: Path) -> None:
    node = Path(shutil.copytree(data / NODE, tmp_path / "node"))
    segment(node, 0).unlink()
    for snapshot in node.glob("*/*.checkpoint"):
        snapshot.unlink()
    ended = kraftlake("state", node)
    assert ended.code == 2
    assert ended.error == (
        "the state up to offset 2711 is not known. Nothing is known of offsets 1262 to 2711: no "
        "snapshot gives the state before these offsets"
    )


@pytest.mark.usefixtures("recorded")
def test_credentials_of_the_state_are_fingerprints(kraftlake: Kraftlake) -> None:
    rows = kraftlake("state", "--json", "--entity", "scram", NODE).rows
    assert rows
    assert all('"salt":"***:' in row["value"] for row in rows)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--at-offset", "9999", NODE], "--at-offset 9999: the log end offset is 2712"),
        (["--at-time", "2030-01-01", NODE],
         "--at-time 2030-01-01T00:00:00.000Z: the log goes up to offset 2711, "
         "2026-11-21T03:20:10.656Z"),
        (["--at-time", "7", NODE], "--at-time 1970-01-01T00:00:00.007Z: the log begins later"),
        (["--diff", "1", "2", NODE], "--diff goes with --lake"),
        (["--lake", "l", "--redact-key", "k"], "--redact-key goes with PATH"),
        (["--sizes", "--topic", "t", NODE], "--sizes and --topic exclude each other: take one"),
        ([NODE, "kafka-3.7.2-static/split/1"],
         "the directories are of several clusters: --cluster Lr3UIdBxT-GFPYE5uprmrg or "
         "gT_wj4dEReaNt2vnLWy9Aw"),
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_given_is_refused_in_one_line(
    kraftlake: Kraftlake, arguments: list[str], said: str
) -> None:
    ended = kraftlake("state", *arguments)
    assert (ended.code, ended.error) == (2, said)


@pytest.mark.usefixtures("recorded")
def test_an_unknown_kind_is_refused_with_those_that_there_are(kraftlake: Kraftlake) -> None:
    ended = kraftlake("state", "--entity", "topics", NODE)
    assert ended.code == 2
    assert ended.error.startswith("--entity topics: expected one of ")


@pytest.mark.spark
def test_directories_and_a_lake_of_them_tell_the_same_state(
    kraftlake: Kraftlake, data: Path, built_lake: Path
) -> None:
    key = ("--redact-key", built_lake / "_redaction.key", "--order", "live,split,final")
    asked = ("state", "--json", "--at-offset", "1400")
    cluster = ("--cluster", "gT_wj4dEReaNt2vnLWy9Aw")
    by_lake = kraftlake(*asked, "--lake", built_lake, *cluster)
    by_directories = kraftlake(*asked, *key, data / STATIC)
    assert by_directories.rows == by_lake.rows
    assert by_lake.rows


def test_topics_that_no_majority_holds_are_named_as_not_proven(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    asked = ("state", "--json", "--entity", "topic", tmp_path)
    before = kraftlake(*asked)
    assert "proven" not in before.err
    ghost = metadata("TOPIC_RECORD", name="ghost", topicId="A" * 21 + "Q")
    append(segment(tmp_path / "3", 2722), metadata("NO_OP_RECORD"), ghost)
    ended = kraftlake(*asked)
    assert len(ended.rows) == len(before.rows) + 1
    (told,) = (line for line in ended.err.splitlines() if "proven" in line)
    assert told.startswith("state: the changes from offset ")
    assert "not proven to be committed" in told
    committed = kraftlake(*asked, "--committed-only")
    assert (committed.rows, "proven" in committed.err) == (before.rows, False)


def test_where_logs_conflict_it_is_said_whose_history_is_shown(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    write_capture(SCENARIOS_BY_NAME["lost-disks"].capture(), str(tmp_path / "nodes"))
    ended = kraftlake("state", "--json", tmp_path / "nodes")
    (told,) = (line for line in ended.complaints if "conflict" in line)
    assert told.startswith(
        "state: the logs conflict from offset 0 on, and nobody knows which history is right: this "
        "is the history of node 1. To see the other, name "
    )
    refused = kraftlake("state", "--topic", "no-such-topic", tmp_path / "nodes")
    assert "at all" not in refused.err, "the other history may have it"
    other = Path(told.removesuffix(" alone").split(", name ")[1])
    assert other.parent.name == "4"
    assert "conflict" not in kraftlake("state", "--json", other).err


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_holds_for_each_kind_in_text_alone(kraftlake: Kraftlake, limit: int) -> None:
    asked = ("--entity", "topic", "--entity", "feature", NODE)
    rows = kraftlake("state", "--json", *asked).rows
    assert kraftlake("state", "--json", "--limit", str(limit), *asked).rows == rows
    shown = kraftlake("state", "--limit", str(limit), *asked).lines
    counts = Counter(row["entity"] for row in rows)
    for kind, count in counts.items():
        assert count > limit
        assert sum(line.split()[0] == kind for line in shown) == limit
        more = f"{kind}: ... and {count - limit} more; --limit {count} or --json lists all"
        assert more in shown
    assert len(kraftlake("state", *asked).lines) == len(rows) + 2, "without --limit all"
