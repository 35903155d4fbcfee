"""check --partitions judges the folders of partitions by the metadata beside them, and changes
nothing."""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from replica.format.partition_metadata import FILE_NAME, encode
from replica.message.primitives import uuid_text
from tests.jobs.conftest import Kraftlake

BROKER = 11
OTHER_TOPIC = uuid_text(b"another-topic-id")


def _folder(folder: Path, topic_id: str | None) -> None:
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(bytes(4096))
    (folder / f"{0:020d}.index").write_bytes(bytes(10_000))  # a broker allocates it beforehand
    if topic_id is not None:
        (folder / FILE_NAME).write_bytes(encode(topic_id))


@pytest.fixture
def node(recorded: Path, tmp_path: Path, kraftlake: Kraftlake) -> Path:
    """The log directory of broker 11 with a folder for each replica that the metadata assigns."""
    node = Path(shutil.copytree(recorded / "kafka-4.1.1-dynamic/final/11", tmp_path / "11"))
    topics = _entities(kraftlake, node, "topic")
    names = {one["topicId"]: one["name"] for one in topics}
    for one in _entities(kraftlake, node, "partition"):
        if BROKER in one["replicas"]:
            _folder(node / f"{names[one['topicId']]}-{one['partitionId']}", one["topicId"])
    return node


def _entities(kraftlake: Kraftlake, node: Path, kind: str) -> list[dict[str, object]]:
    ended = kraftlake("state", "--entity", kind, "--json", node)
    assert ended.code == 0
    return [json.loads(row["value"]) for row in ended.rows]


def _listed(node: Path) -> list[str]:
    return sorted(str(one.relative_to(node)) for one in node.rglob("*"))


def test_folders_that_the_metadata_assigns_are_counted_and_no_finding(
    kraftlake: Kraftlake, node: Path
) -> None:
    before = _listed(node)
    ended = kraftlake("check", "--partitions", "--json", node)
    rules = {row["rule"] for row in ended.rows if row["kind"] == "finding"}
    assert not {one for one in rules if "stray" in one or "folder" in one or "partition-t" in one}
    (row,) = (one for one in ended.rows if one["kind"] == "log-directory")
    folders = [one for one in node.iterdir() if one.is_dir() and "__cluster" not in one.name]
    assert (row["node_id"], row["partitions"], row["path"]) == (BROKER, len(folders), str(node))
    assert row["size_bytes"] == 4096 * len(folders), "as kafka-log-dirs counts: without indexes"
    assert _listed(node) == before


def test_the_size_is_that_of_the_counted_partitions_and_others_have_their_own(
    kraftlake: Kraftlake, node: Path
) -> None:
    served = sum(one.is_dir() and "__cluster" not in one.name for one in node.iterdir())
    for state, number in (("delete", 1), ("stray", 2), ("stray", 3)):
        _folder(node / f"gone-{number}.{number:032x}-{state}", OTHER_TOPIC)
    asked = "check", "--partitions", node
    (row,) = (one for one in kraftlake(*asked, "--json").rows if one["kind"] == "log-directory")
    assert (row["partitions"], row["size_bytes"]) == (served, 4096 * served)
    assert (row["deleted"], row["deleted_bytes"]) == (1, 4096)
    assert (row["stray"], row["stray_bytes"]) == (2, 8192)
    lines = kraftlake(*asked).lines
    (header,) = (at for at, line in enumerate(lines) if line.startswith("broker  partitions"))
    cells = re.split("  +", lines[header + 2].strip())
    assert cells[3:-1] == ["0", "1 (4.0 KiB)", "2 (8.0 KiB)"]


@pytest.mark.parametrize("name", ["3.7.2-static", "4.1.1-dynamic", "4.4.0-dynamic"])
def test_copies_of_the_metadata_alone_have_no_folders_to_miss(
    kraftlake: Kraftlake, recorded: Path, name: str
) -> None:
    ended = kraftlake("check", "--partitions", "--json", recorded / f"kafka-{name}/live")
    found = {row["rule"] for row in ended.rows if row["kind"] == "finding"}
    assert not {one for one in found if "partition" in one or "folder" in one}
    (verdict,) = ended.verdicts
    assert "the partitions' folders of broker 11" in [one["what"] for one in verdict["not_judged"]]


def test_a_disk_that_a_broker_used_and_that_lost_its_folders_is_told(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(recorded / "kafka-4.1.1-dynamic/live/11", tmp_path / "11"))
    (node / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    ended = kraftlake("check", "--partitions", "--json", node)
    assert "replica-without-folder" in {row.get("rule") for row in ended.rows}


def test_a_stray_folder_is_at_risk_and_says_what_the_broker_will_do(
    kraftlake: Kraftlake, node: Path
) -> None:
    _folder(node / "left-over-0", OTHER_TOPIC)
    ended = kraftlake("check", "--partitions", node)
    assert ended.code == 1
    (verdict,) = kraftlake("check", "--partitions", "--json", node).verdicts
    (fact,) = (one for one in verdict["facts"] if one["rules"] == ["stray-partition"])
    assert fact["level"] == "at-risk"
    assert fact["text"].startswith("Broker 11: ")
    assert any("stray-partition" in line for line in ended.lines)
    assert any(
        str(node / "left-over-0") in line and "no such topic" in line for line in ended.lines
    )
    (header,) = (at for at, line in enumerate(ended.lines) if line.startswith("broker  partitions"))
    assert ended.lines[header + 2].split()[0] == str(BROKER)


def test_a_folder_that_is_gone_is_told_with_its_partition(kraftlake: Kraftlake, node: Path) -> None:
    gone = min(one for one in node.iterdir() if one.is_dir() and "__cluster" not in one.name)
    shutil.rmtree(gone)
    ended = kraftlake("check", "--partitions", "--json", node)
    (row,) = (one for one in ended.rows if one.get("rule") == "replica-without-folder")
    assert [one["name"] for one in row["subjects"]] == [gone.name]


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_a_command_says_that_there_are_folders_which_it_did_not_judge(
    kraftlake: Kraftlake, node: Path, command: str
) -> None:
    _folder(node / "left-over-0", OTHER_TOPIC)
    ended = kraftlake(command, node)
    assert "stray-partition" not in ended.out
    (hint,) = (line for line in ended.complaints if "--partitions" in line)
    with redirect_stderr(sys.stdout):
        assert hint == kraftlake(command, node).lines[-1], "the verdict is said first"
    told = "folders of partitions beside the metadata: `kraftlake check --partitions` judges them"
    assert told in hint


def test_the_recorded_directories_have_none_and_no_hint(
    kraftlake: Kraftlake, recorded: Path
) -> None:
    ended = kraftlake("check", recorded / "kafka-4.1.1-dynamic/final")
    assert "--partitions" not in ended.err


def test_a_path_without_a_log_directory_is_refused(kraftlake: Kraftlake, tmp_path: Path) -> None:
    ended = kraftlake("check", "--partitions", tmp_path)
    assert ended.code == 2
    assert "--partitions: no folder at or below" in ended.err


def test_the_one_line_of_an_outage_also_says_what_to_know_before_any_start(
    kraftlake: Kraftlake, node: Path
) -> None:
    (line,) = kraftlake("check", "-q", node).lines
    assert line.startswith("OUTAGE ")
    assert "Before any start" not in line
    _folder(node / "left-over-0", OTHER_TOPIC)
    (line,) = kraftlake("check", "-q", "--partitions", node).lines
    assert line.startswith("OUTAGE ")
    assert "Before any start: Broker 11: A broker's log directory holds partitions" in line
