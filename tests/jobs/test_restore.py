"""`kraftlake restore`: what it makes of recorded clusters, and what it refuses."""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

import pytest

from replica.doctor.restore.checkpoint import checkpoint
from replica.format.control import KRaftVersion, KRaftVoters
from replica.format.file_names import METADATA_FOLDER
from replica.format.frames import frames
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.editing import append, batches, metadata, segment, set_value

RECORDED = {"kafka-3.7.2-static": "3.7", "kafka-4.1.1-dynamic": "4.1", "kafka-4.4.0-dynamic": "4.4"}
CHECKPOINT = f"{METADATA_FOLDER}/{0:020d}-{0:010d}.checkpoint"


def file_of(release: str) -> str:
    return CHECKPOINT if release == "4.4" else "bootstrap.checkpoint"


@pytest.mark.parametrize(("cluster", "release"), RECORDED.items())
def test_the_checkpoint_has_every_topic_and_partition_of_the_newest_state(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, cluster: str, release: str
) -> None:
    source = data / cluster / "final"
    ended = kraftlake("restore", "--release", release, source, "-o", tmp_path / "out")
    assert ended.code == 0, ended.err
    path = tmp_path / "out" / file_of(release)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "it may hold credentials"
    counts = dict(line.split(": ") for line in ended.lines if line[-1].isdigit() and ": " in line)
    dumped = kraftlake("dump", "--json", path).rows
    for entity, record_type in (("topic", "TOPIC_RECORD"), ("partition", "PARTITION_RECORD")):
        found = [row for row in dumped if row["type"] == record_type]
        assert str(len(found)) == counts[f"  {entity}"]
    assert not any(row["type"].startswith("REGISTER_") for row in dumped)
    assert kraftlake("check", path).code == 0


def test_a_dry_run_tells_the_same_and_writes_nothing(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source = data / "kafka-4.1.1-dynamic/final"
    told = kraftlake("restore", "--release", "4.2", "--dry-run", source)
    made = kraftlake("restore", "--release", "4.2", source, "-o", tmp_path / "out")
    assert made.lines[: len(told.lines)] == told.lines
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_topics_that_no_majority_holds_are_told_and_can_be_left_out(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    asked = ("restore", "--release", "4.2", "--dry-run", "--json", tmp_path)
    before = kraftlake(*asked)
    assert "committed" not in before.err
    ghost = metadata("TOPIC_RECORD", name="ghost", topicId="A" * 21 + "Q")
    append(segment(tmp_path / "3", 2722), metadata("NO_OP_RECORD"), ghost)
    told = kraftlake(*asked)
    assert "are on no majority of the voters, so they were not committed" in told.err
    assert topics(told) == topics(before) + 1
    (offset,) = re.findall(r"--at-offset (\d+) leaves them out", told.err)
    without = kraftlake(*asked, "--at-offset", offset)
    assert "committed" not in without.err
    assert topics(without) == topics(before)
    alone = kraftlake("restore", "--release", "4.2", "--dry-run", tmp_path / "1")
    assert "which these directories don't prove: name those of more voters" in alone.err


def test_histories_that_conflict_are_told_first_and_end_with_one(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    path = segment(tmp_path / "2", 2722)
    last = batches(path)[-1]
    set_value(path, last, lambda value: value[:-1] + b"\x01")
    asked = ("restore", "--release", "4.2", "--dry-run", tmp_path)
    ended = kraftlake(*asked)
    offset = last.header.base_offset
    assert ended.err.splitlines()[0] == (
        "restore: start no node: `kraftlake recover --plan` refuses to go on with these "
        f"directories. Nothing below offset {offset} is disputed: --at-offset {offset}"
    )
    assert ended.code == 1
    below = kraftlake(*asked, "--at-offset", str(offset))
    assert "start no node" not in below.err
    assert below.code == 0


def test_a_migration_that_is_under_way_is_told(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    shutil.copytree(data / "kafka-3.7.2-static/final/1", tmp_path / "1")
    asked = ("restore", "--release", "3.9", "--dry-run", tmp_path)
    assert "ZooKeeper" not in kraftlake(*asked).err
    newest = max(tmp_path.rglob("*.log"))
    append(newest, metadata("ZK_MIGRATION_STATE_RECORD", zkMigrationState=1))
    assert "a migration from ZooKeeper is under way" in kraftlake(*asked).err


def topics(ended: Ended) -> int:
    (number,) = (row["number"] for row in ended.rows if row.get("entity") == "topic")
    return int(number)


def test_a_lake_gives_the_same_records_as_the_directories_it_was_made_from(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source, lake = data / "kafka-4.4.0-dynamic/final", tmp_path / "lake"
    kraftlake("ingest", "--keep-secrets", "--build", "--lake", lake, source)
    for name, place in (("a", (source,)), ("b", ("--lake", lake))):
        ended = kraftlake("restore", "--release", "4.4", *place, "-o", tmp_path / name)
        assert ended.code == 0, ended.err
    dumps = [
        kraftlake("dump", "--json", "--keep-secrets", tmp_path / name / CHECKPOINT).rows
        for name in ("a", "b")
    ]
    records = [[(row["type"], row["data"]) for row in rows[1:]] for rows in dumps]
    assert len(records[0]) > 700
    assert records[0] == records[1]


def test_a_redacted_lake_leaves_the_credentials_out_and_says_so(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    kraftlake("ingest", "--build", "--lake", lake, data / "kafka-4.4.0-dynamic/final")
    rows = kraftlake("restore", "--release", "4.4", "--dry-run", "--json", "--lake", lake).rows
    (scram,) = (row for row in rows if row["kind"] == "change" and row["entity"] == "scram")
    assert scram["number"] == 17
    assert "set the credentials again" in scram["detail"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--release", "2.8"), "--release 2.8: expected one of 3.7, "),
        (("--release", "4.1", "--map-brokers", "1-2"), "expected OLD=NEW ids"),
        (("--release", "4.1", "--map-brokers", "1=2,1=3"), "expected OLD=NEW ids"),
        (("--release", "3.9"), "is newer than Kafka 3.9"),
        (("--release", "4.1", "--at-offset", "1"), "no batch or snapshot"),
        (("--release", "4.1", "--cluster", "x"), "--cluster goes with --lake"),
    ],
)
def test_wrong_options_of_restore_are_refused(
    data: Path, kraftlake: Kraftlake, options: tuple[str, ...], complaint: str
) -> None:
    ended = kraftlake("restore", "--dry-run", *options, data / "kafka-4.1.1-dynamic/final")
    assert ended.code == 2
    assert complaint in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "command",
    [
        ("capture",),
        ("redact",),
        ("restore", "--release", "4.1"),
        ("rehearse", "--seeds", "0:1", "--failures", "0"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("inside", ["out", f"{METADATA_FOLDER}/a/out"])
def test_nothing_is_written_into_the_log_directory_of_a_node(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, command: tuple[str, ...], inside: str
) -> None:
    """Kafka does not start with a folder there that is no partition's."""
    node = shutil.copytree(data / "kafka-4.1.1-dynamic/final/1", tmp_path / "1")
    (tmp_path / "link").symlink_to(node)
    ended = kraftlake(*command, node, "-o", tmp_path / "link" / inside)
    assert ended.code == 2
    assert "a node's log directory, with which Kafka would not start any more" in ended.error
    assert not (node / "out").exists()


def test_a_folder_that_holds_something_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / "mine").write_text("mine")
    source = data / "kafka-4.1.1-dynamic/final"
    ended = kraftlake("restore", "--release", "4.1", source, "-o", tmp_path)
    assert ended.code == 2
    assert "holds mine" in ended.error


def test_credentials_are_written_to_no_folder_that_other_users_can_change(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    source = data / "kafka-4.1.1-dynamic/final"
    for folder, said in (
        (tmp_path / "open", "everybody may write to it"),
        (tmp_path / "link", "a link"),
        ("s3://bucket/there", "name a local folder"),
    ):
        ended = kraftlake("restore", "--release", "4.1", source, "-o", folder)
        assert ended.code == 2
        assert said in ended.err
    assert not any((tmp_path / "mine").iterdir())
    assert not any((tmp_path / "open").iterdir())


def test_a_directory_that_was_not_formatted_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source = data / "kafka-4.4.0-dynamic/final"
    options = ("--release", "4.4", "--formatted", tmp_path, "--dry-run")
    ended = kraftlake("restore", *options, source)
    assert ended.code == 2
    assert "kafka-storage" in ended.err


VOTERS = tuple(
    Voter(ReplicaKey(node_id, f"{node_id:022d}"), (Endpoint("CONTROLLER", "c", 9093),), 0, 1)
    for node_id in (1, 2, 3)
)


def formatted(folder: Path) -> Path:
    """The checkpoint of a controller's directory as kafka-storage formats it."""
    path = folder / CHECKPOINT
    path.parent.mkdir(parents=True)
    path.write_bytes(checkpoint((), 0, [KRaftVersion(0, 1), KRaftVoters(0, VOTERS)]))
    return path


def test_the_voters_of_a_formatted_directory_go_into_the_checkpoint(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    formatted(tmp_path / "new")
    options = ("--release", "4.4", "--formatted", tmp_path / "new", "-o", tmp_path / "out")
    ended = kraftlake("restore", *options, data / "kafka-4.4.0-dynamic/final")
    assert ended.code == 0, ended.err
    dumped = kraftlake("dump", "--json", tmp_path / "out" / CHECKPOINT).rows
    (voters,) = (row["data"]["voters"] for row in dumped if row["type"] == "KRAFT_VOTERS")
    assert [voter["voterId"] for voter in voters] == [1, 2, 3]


@pytest.mark.parametrize(
    ("place", "complaint"),
    [(-100, "CRC"), (100, "CRC"), (None, "footer")],
    ids=["a-bit-of-the-last-batch", "a-bit-of-the-voters", "cut-before-the-footer"],
)
def test_a_damaged_checkpoint_of_a_formatted_directory_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, place: int | None, complaint: str
) -> None:
    path = formatted(tmp_path / "new")
    content = bytearray(path.read_bytes())
    if place is None:
        *_, footer = frames(content, start=0, expected_offset=0)
        del content[footer.position :]
    else:
        content[place] ^= 1
    path.write_bytes(content)
    options = ("--release", "4.4", "--formatted", tmp_path / "new", "--dry-run")
    ended = kraftlake("restore", *options, data / "kafka-4.4.0-dynamic/final")
    assert ended.code == 2
    assert complaint in ended.error
    assert str(path) in ended.error
