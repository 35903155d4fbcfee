"""What `kraftlake dump` does with bytes that Kafka didn't write, and with wrong arguments."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from jobs.cli.record_lines import records_in
from kraftlake import decode
from replica.format.batch import decode_header
from replica.format.compression import Inflation
from replica.format.damage import Damage, DamageKind
from replica.format.record import Record, encode_records
from replica.format.walk import LocatedBatch
from tests.jobs.conftest import Kraftlake
from tests.replica.format.encoded import encode_batch

NODE = "kafka-4.1.1-dynamic/live/2/__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"


@pytest.fixture
def segment(data: Path, tmp_path: Path) -> Path:
    """A recorded segment that may be changed."""
    return Path(shutil.copy(data / NODE / SEGMENT, tmp_path / SEGMENT))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x01
    path.write_bytes(content)


def test_a_flipped_bit_hides_its_batch_alone_and_is_named(
    segment: Path, kraftlake: Kraftlake
) -> None:
    batches = kraftlake("dump", "--json", "--batches", segment).rows
    whole = kraftlake("dump", "--json", "--keep-secrets", segment).rows
    victim = batches[3]
    flip(segment, victim["position"] + victim["size"] - 1)

    ended = kraftlake("dump", "--json", "--keep-secrets", segment)
    assert ended.code == 1
    assert len(ended.complaints) == 1
    start = f"{segment}: byte {victim['position']}: crc-mismatch: batch {victim['base_offset']}-"
    assert ended.err.startswith(start)
    lost = range(victim["base_offset"], victim["last_offset"] + 1)
    assert ended.rows == [row for row in whole if row["offset"] not in lost]

    shown = kraftlake("dump", "--json", "--batches", segment)
    assert shown.code == 1
    assert [row["position"] for row in shown.rows if not row["crc_valid"]] == [victim["position"]]


def test_a_torn_tail_is_named_and_all_before_it_is_printed(
    segment: Path, kraftlake: Kraftlake
) -> None:
    whole = kraftlake("dump", "--json", "--batches", segment).rows
    segment.write_bytes(segment.read_bytes()[:-5])
    ended = kraftlake("dump", "--json", "--batches", segment)
    assert ended.code == 1
    assert ended.rows == whole[:-1]
    assert f"byte {whole[-1]['position']}: torn-tail:" in ended.err


def record_segment(path: Path, values: list[bytes | None]) -> None:
    records = [Record(number, 1000, None, value) for number, value in enumerate(values)]
    path.write_bytes(
        encode_batch(
            base_offset=0,
            leader_epoch=1,
            records=encode_records(records, 0, 1000),
            record_count=len(records),
            last_offset_delta=len(records) - 1,
            base_timestamp=1000,
            max_timestamp=1000,
        )
    )


def test_a_record_that_does_not_decode_is_named_and_its_neighbours_are_printed(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    path = tmp_path / SEGMENT
    no_op = bytes([1, 20, 0, 0])
    record_segment(path, [no_op, b"\x01\x02\x00\x7f", None, no_op])
    ended = kraftlake("dump", "--json", path)
    assert ended.code == 1
    assert [(row["offset"], row["type"]) for row in ended.rows] == [
        (0, "NO_OP_RECORD"),
        (3, "NO_OP_RECORD"),
    ]
    assert [line.split(" of the batch")[0] for line in ended.complaints] == [
        f"{path}: byte 0: record: record at offset 1",
        f"{path}: byte 0: record: record at offset 2",
    ]


def test_a_program_is_told_of_the_same_records_and_damages_as_a_person(
    tmp_path: Path, segment: Path, kraftlake: Kraftlake
) -> None:
    """kraftlake.decode and dump read a file by one decoder."""
    torn, bad = (tmp_path / name / "__cluster_metadata-0" for name in ("torn", "bad"))
    for folder in (torn, bad):
        folder.mkdir(parents=True)
    (torn / SEGMENT).write_bytes(segment.read_bytes()[:-10])
    record_segment(bad / SEGMENT, [bytes([1, 20, 0, 0]), b"\x01\x02\x00\x7f", None])
    for path in (torn / SEGMENT, bad / SEGMENT):
        ended = kraftlake("dump", "--json", "--keep-secrets", path)
        rows = list(decode(path, keep_secrets=True))
        told = [f"{path}: byte {one['position']}: {one['damage']}: {one['detail']}"
                for one in rows if "damage" in one]  # fmt: skip
        assert told == ended.complaints
        assert [one for one in rows if "damage" not in one] == [
            {name: value for name, value in row.items() if name != "file"} for row in ended.rows
        ]


def test_a_batch_that_was_changed_meanwhile_is_a_damage_and_no_record(segment: Path) -> None:
    found: list[Damage] = []
    batch = LocatedBatch(40, decode_header(segment.read_bytes()), True)
    assert list(records_in(batch, b"", Inflation(0), found.append)) == []
    (damage,) = found
    assert (damage.position, damage.kind) == (40, DamageKind.CHANGED)


def test_an_unknown_record_type_is_kept_and_labelled(tmp_path: Path, kraftlake: Kraftlake) -> None:
    path = tmp_path / SEGMENT
    record_segment(path, [bytes([1, 99, 3]) + b"news"])
    row = kraftlake("dump", "--json", "--keep-secrets", path).rows[0]
    assert (row["type"], row["version"]) == ("UNKNOWN_RECORD", 3)
    assert row["data"] == {"apiKey": 99, "version": 3, "body": "bmV3cw=="}
    redacted = kraftlake("dump", "--json", path).rows[0]
    assert redacted["data"]["body"].startswith("***:")


def test_terminal_control_codes_in_a_log_do_not_reach_the_terminal(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    path = tmp_path / SEGMENT
    name = "\x9b31mred\x1b[0m".encode()
    value = bytes([1, 2, 0, len(name) + 1]) + name + bytes(16) + b"\x00"
    record_segment(path, [value])
    ended = kraftlake("dump", path)
    assert "TOPIC_RECORD" in ended.out
    assert not {"\x9b", "\x1b"} & set(ended.out)


def test_a_gap_between_two_segments_is_named(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    shutil.copy(data / NODE / SEGMENT, folder / SEGMENT)
    (folder / "00000000000000999999.log").write_bytes(b"")
    ended = kraftlake("dump", "--json", folder)
    assert ended.code == 1
    assert "offset-gap: segment starts at 999999" in ended.err


def test_empty_segments_are_legal_and_empty_snapshots_are_not(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / SEGMENT).touch()
    assert kraftlake("dump", tmp_path / SEGMENT).code == 0
    snapshot = tmp_path / "00000000000000000519-0000000005.checkpoint"
    snapshot.touch()
    ended = kraftlake("dump", snapshot)
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaints == [f"{snapshot}: byte 0: empty-file: a snapshot of 0 bytes"]
    (tmp_path / "leader-epoch-checkpoint").touch()
    ended = kraftlake("dump", tmp_path / "leader-epoch-checkpoint")
    assert ended.code == 1
    assert "empty-file" in ended.err


def test_a_file_that_is_not_kafka_s_is_named_as_such(tmp_path: Path, kraftlake: Kraftlake) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    ended = kraftlake("dump", path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.complaints[0].startswith(f"{path}: byte 0: not-kafka: ")


@pytest.mark.parametrize("name", [SEGMENT, "pipe", "quorum-state"])
def test_a_pipe_does_not_block(tmp_path: Path, kraftlake: Kraftlake, name: str) -> None:
    os.mkfifo(tmp_path / name)
    ended = kraftlake("dump", tmp_path / name)
    assert ended.code == 1
    assert ended.complaints == [f"{tmp_path / name}: byte 0: unreadable: not a regular file"]


def test_garbage_in_small_files_is_named_by_its_byte(tmp_path: Path, kraftlake: Kraftlake) -> None:
    (tmp_path / "quorum-state").write_text('{"leaderId": nonsense}')
    (tmp_path / "00000000000000000000.index").write_bytes(struct.pack(">iiii", 5, 5, 4, 4))
    ended = kraftlake("dump", tmp_path / "quorum-state", tmp_path / "00000000000000000000.index")
    assert ended.code == 1
    assert [line.split(": ")[1:3] for line in ended.complaints] == [
        ["byte 13", "content"],
        ["byte 8", "content"],
    ]


def test_an_empty_metadata_directory_is_said_to_be_empty(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    ended = kraftlake("dump", folder)
    assert (ended.code, ended.out) == (0, "")
    assert ended.complaints == [f"{folder}: nothing to dump in it"]


def test_an_empty_folder_does_not_end_the_dump_of_others(
    tmp_path: Path, data: Path, kraftlake: Kraftlake
) -> None:
    node = data / "kafka-4.4.0-dynamic/final/1"
    ended = kraftlake("dump", tmp_path, node)
    assert ended.code == 1
    (told,) = ended.complaints
    assert told.startswith(f"{tmp_path}: ")
    assert "an empty disk, or not the folder that was meant" in told
    assert len(ended.lines) == len(kraftlake("dump", node).lines)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "nowhere: no such file or directory"),
        (["."], "no metadata directory below it"),
        (["--type", "TOPC_RECORD", "."], "did you mean TOPIC_RECORD"),
        (["--type", "zzz", "."], "known are ABORT"),
        (["--from-time", "yesterday", "."], "--from-time yesterday: neither ISO-8601"),
        (["--from-offset", "7", "--to-offset", "7", "."], "select nothing"),
        (["--from-offset", "x", "."], "--from-offset"),
        (["--epoch", "-1", "."], "--epoch"),
        (["--logs-only", "--snapshots-only", "."], "exclude each other"),
        (["--batches", "--type", "topic", "."], "--batches shows none"),
        (["--keep-secrets", "--redact-key", "k", "."], "exclude each other"),
        (["--redact-key", "nowhere", "."], "--redact-key nowhere: No such file"),
        (["--redact-key", "empty", "."], "is empty"),
        (["--colour", "."], "No such option"),
        ([], "Missing argument"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kraftlake: Kraftlake,
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    ended = kraftlake("dump", *arguments)
    assert ended.code == 2
    assert reason in ended.error


def test_a_hostile_file_name_does_not_break_the_line(tmp_path: Path, kraftlake: Kraftlake) -> None:
    path = tmp_path / "a\n\x1b[31mb.txt"
    path.write_text("hello")
    ended = kraftlake("dump", path)
    assert len(ended.complaints) == 1
    assert "a\\n\\x1b[31mb.txt" in ended.err
