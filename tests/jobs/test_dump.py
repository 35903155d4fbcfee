"""`kraftlake dump` on logs recorded from real Kafka, held to what Kafka itself printed."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.jobs.conftest import Kraftlake

ALL_TYPES = "generated-all-types/00000000000000000000.log"
NODE = "kafka-4.1.1-dynamic/live/2"
RECORDED_CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")
CONTROL_NAMES = {
    "LeaderChange": "LEADER_CHANGE",
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
}


def kafka_s_own(data: Path, kind: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["kind"] == kind:
                yield row


def test_every_recorded_record_equals_kafka_s_dump(recorded: Path, kraftlake: Kraftlake) -> None:
    scenarios = ["generated-all-types", *RECORDED_CLUSTERS]
    ended = kraftlake("dump", "--json", "--keep-secrets", *scenarios)
    assert (ended.code, ended.err) == (0, "")

    wanted = {
        (row["file"], row["offset"]): {
            "file": row["file"],
            "offset": row["offset"],
            "epoch": row["epoch"],
            "timestamp": row["ts"],
            "type": CONTROL_NAMES.get(row["type"], row["type"]),
            "version": row["version"],
            "data": row["data"],
        }
        for row in kafka_s_own(recorded, "record")
    }
    assert len(wanted) > 60_000
    for row in ended.rows:
        assert row == wanted.pop((row["file"], row["offset"]))
    assert wanted == {}


def test_every_recorded_batch_equals_kafka_s_dump(recorded: Path, kraftlake: Kraftlake) -> None:
    shown = ("generated-all-types", "kafka-3.7.2-static")
    ended = kraftlake("dump", "--json", "--batches", "--keep-secrets", *shown)
    names = ("file", "position", "base_offset", "last_offset", "epoch", "count", "size", "crc")
    wanted = [
        {
            **{name: row[name] for name in names},
            "is_control": row["control"],
            "crc_valid": row["valid"],
        }
        for row in kafka_s_own(recorded, "batch")
        if not row["file"].startswith(RECORDED_CLUSTERS[1:])
    ]
    order = ("file", "position")
    got = sorted(ended.rows, key=lambda row: [row[name] for name in order])
    assert got == sorted(wanted, key=lambda row: [row[name] for name in order])
    assert list(ended.rows[0]) == [
        "file",
        "position",
        "base_offset",
        "last_offset",
        "epoch",
        "is_control",
        "count",
        "size",
        "crc",
        "crc_valid",
    ]


def test_text_shows_a_readable_line_per_record_under_its_file(
    recorded: Path, kraftlake: Kraftlake
) -> None:
    ended = kraftlake("dump", "--to-offset", "4", NODE)
    assert [line for line in ended.lines if "KRAFT_VOTERS" not in line] == [
        "# kafka-4.1.1-dynamic/live/2/__cluster_metadata-0/00000000000000000000.log",
        '         0     1  2026-11-21T03:18:48.672Z  LEADER_CHANGE v0  {"version":0,"leaderId":2,'
        '"voters":[{"voterId":1},{"voterId":2},{"voterId":3}],"grantingVoters":[{"voterId":2},'
        '{"voterId":1}]}',
        "         1     1  2026-11-21T03:18:48.672Z  KRAFT_VERSION v0  "
        '{"version":0,"kRaftVersion":1}',
        "         3     1  2026-11-21T03:18:48.920Z  BEGIN_TRANSACTION_RECORD v0  "
        '{"name":"Bootstrap records"}',
    ]
    batches = kraftlake("dump", "--batches", "--to-offset", "1", NODE)
    assert batches.lines[1].split() == [
        "0",
        "0-2",
        "epoch",
        "1",
        "control",
        "3",
        "records",
        "292",
        "bytes",
        "crc",
        "1339499232",
        "valid",
    ]


def test_a_directory_gives_its_log_first_and_then_its_complete_snapshots(
    recorded: Path, kraftlake: Kraftlake
) -> None:
    files = list(dict.fromkeys(row["file"] for row in kraftlake("dump", "--json", NODE).rows))
    folder = f"{NODE}/__cluster_metadata-0"
    assert [Path(file).parent.as_posix() for file in files] == [folder] * len(files)
    names = [Path(file).name for file in files]
    assert names == sorted(n for n in names if n.endswith(".log")) + sorted(
        n for n in names if n.endswith(".checkpoint")
    )
    assert {Path(name).suffix for name in names} == {".log", ".checkpoint"}


def test_deleted_segments_and_the_bootstrap_snapshot_come_with_all_only(
    recorded: Path, kraftlake: Kraftlake
) -> None:
    node = "kafka-3.7.2-static/live/3"
    plain = {row["file"] for row in kraftlake("dump", "--json", node).rows}
    everything = {row["file"] for row in kraftlake("dump", "--json", "--all", node).rows}
    assert plain < everything
    extra = {file.rsplit("/", 1)[1] for file in everything - plain}
    assert "bootstrap.checkpoint" in extra
    assert any(name.endswith(".log.deleted") for name in extra)
    named = next(file for file in everything if file.endswith(".log.deleted"))
    assert kraftlake("dump", "--json", named).rows[0]["file"] == named


def test_offsets_select_from_the_log_and_leave_snapshots_out(
    recorded: Path, kraftlake: Kraftlake
) -> None:
    rows = kraftlake("dump", "--json", "--from-offset", "5", "--to-offset", "9", NODE).rows
    assert [row["offset"] for row in rows] == [5, 6, 7, 8]
    snapshot = kraftlake("dump", "--json", "--snapshots-only", "--to-offset", "1", NODE).rows
    assert {row["type"] for row in snapshot} == {"SNAPSHOT_HEADER"}


def test_types_match_in_any_case_with_wildcards_and_kafka_s_class_names(
    recorded: Path, kraftlake: Kraftlake
) -> None:
    def types(*patterns: str) -> set[str]:
        arguments = [word for pattern in patterns for word in ("--type", pattern)]
        return {row["type"] for row in kraftlake("dump", "--json", *arguments, ALL_TYPES).rows}

    assert types("topic_record") == {"TOPIC_RECORD"}
    assert types("topic") == {"TOPIC_RECORD"}
    assert types("PartitionRecord", "LeaderChange") == {"PARTITION_RECORD", "LEADER_CHANGE"}
    assert types("partition*") == {"PARTITION_RECORD", "PARTITION_CHANGE_RECORD"}
    assert types("kraft_voters") == set()
    ends = {"BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"}
    assert types("*transaction") == types("*transaction_record") == ends
    assert types("d*Token", "t?pic") == {"DELEGATION_TOKEN_RECORD", "TOPIC_RECORD"}
    assert types("*") > ends


def test_epochs_and_times_select(recorded: Path, kraftlake: Kraftlake) -> None:
    logs = ("dump", "--json", "--keep-secrets", "--logs-only")
    everything = kraftlake(*logs, NODE).rows
    epoch = kraftlake(*logs, "--epoch", "3", NODE).rows
    assert epoch == [row for row in everything if row["epoch"] == 3]
    start, end = everything[100]["timestamp"], everything[900]["timestamp"]
    between = kraftlake(*logs, "--from-time", str(start), "--to-time", str(end), NODE).rows
    assert between == [row for row in everything if start <= row["timestamp"] < end]
    later = kraftlake("dump", "--json", "--from-time", "2300-01-01T00:00:00Z", NODE)
    assert (later.code, later.out, later.err) == (0, "", "")


def test_secrets_show_as_fingerprints_that_a_key_makes_comparable(
    recorded: Path, kraftlake: Kraftlake, tmp_path: Path
) -> None:
    select = ("dump", "--json", "--type", "user_scram_credential", ALL_TYPES)
    secret = kraftlake(*select, "--keep-secrets").rows[0]["data"]["storedKey"]
    redacted, again = kraftlake(*select), kraftlake(*select)
    assert secret not in redacted.out
    assert re.fullmatch(r"\*\*\*:[0-9a-f]{12}", redacted.rows[0]["data"]["storedKey"])
    assert redacted.out != again.out, "a key of its own for each run"
    key = tmp_path / "key"
    key.write_bytes(b"0123456789")
    assert (
        kraftlake(*select, "--redact-key", key).out == kraftlake(*select, "--redact-key", key).out
    )


def test_small_files_give_one_object_each(recorded: Path, kraftlake: Kraftlake) -> None:
    folder = f"{NODE}/__cluster_metadata-0"
    files = {
        "quorum-state": f"{folder}/quorum-state",
        "leader-epoch-checkpoint": f"{folder}/leader-epoch-checkpoint",
        "partition-metadata": f"{folder}/partition.metadata",
        "offset-index": f"{folder}/00000000000000000000.index",
        "time-index": f"{folder}/00000000000000000000.timeindex",
        "meta-properties": f"{NODE}/meta.properties",
        "producer-snapshot": "kafka-3.7.2-static/final/1/__cluster_metadata-0/"
        "00000000000000000750.snapshot",
    }
    ended = kraftlake("dump", "--json", *files.values())
    assert ended.code == 0
    rows = {row["kind"]: row for row in ended.rows}
    assert {kind: row["file"] for kind, row in rows.items()} == files
    assert rows["quorum-state"]["data"]["data_version"] == 1
    assert rows["leader-epoch-checkpoint"]["data"] == [
        {"epoch": 1, "start_offset": 0},
        {"epoch": 2, "start_offset": 501},
        {"epoch": 3, "start_offset": 751},
        {"epoch": 5, "start_offset": 1023},
    ]
    assert rows["meta-properties"]["data"]["node.id"] == "2"
    assert json.loads(kraftlake("dump", files["quorum-state"]).out) == rows["quorum-state"]


def test_a_bundle_is_read_like_the_folder_in_it(
    recorded: Path, kraftlake: Kraftlake, tmp_path: Path
) -> None:
    shutil.copytree(recorded / NODE, tmp_path / "node")
    bundle = tmp_path / "node.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(tmp_path / "node", "node")
    packed, plain = kraftlake("dump", "--json", bundle), kraftlake("dump", "--json", NODE)
    assert packed.code == 0
    assert {row["file"].split("/node/")[0] for row in packed.rows} == {str(bundle)}
    assert len(packed.rows) == len(plain.rows)
