"""`kraftlake diff` on the recorded split, where the truth is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from replica.format.batch import HEADER, computed_crc, decode_header, encode_header
from tests.jobs.conftest import Kraftlake

SPLIT = "kafka-4.1.1-dynamic/split"
FIELDS = [
    "cluster_id",
    "node_a",
    "directory_a",
    "node_b",
    "directory_b",
    "relation",
    "divergence_offset",
    "epoch_a",
    "epoch_b",
    "truncating_node",
    "truncation_offset",
    "fetch_rounds",
    "draft_fetch_rounds",
    "records_lost",
    "committed_lost",
    "unproven_lost",
    "superseded_lost",
]


def differ(kraftlake: Kraftlake, a: str | Path, b: str | Path) -> dict[str, Any]:
    (row,) = kraftlake("diff", "--json", a, b).rows
    return row


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("scenario", "offset", "epochs"),
    [("kafka-4.1.1-dynamic", 1526, (5, 6)), ("kafka-3.7.2-static", 750, (7, 8))],
)
def test_the_split_is_found_where_it_happened(
    kraftlake: Kraftlake, scenario: str, offset: int, epochs: tuple[int, int]
) -> None:
    for loser in ("2", "11"):
        for winner in ("1", "3", "12"):
            row = differ(kraftlake, f"{scenario}/split/{loser}", f"{scenario}/split/{winner}")
            assert row["relation"] == "diverged"
            assert row["divergence_offset"] == row["truncation_offset"] == offset
            assert (row["epoch_a"], row["epoch_b"]) == epochs
            assert (row["truncating_node"], row["records_lost"]) == (int(loser), 22)
            assert row["committed_lost"] == 0
            assert row["unproven_lost"] + row["superseded_lost"] == 22


@pytest.mark.usefixtures("recorded")
def test_the_json_row_has_the_table_s_fields_and_mirrors_when_turned_round(
    kraftlake: Kraftlake,
) -> None:
    row = differ(kraftlake, f"{SPLIT}/2", f"{SPLIT}/3")
    assert list(row) == FIELDS
    turned = differ(kraftlake, f"{SPLIT}/3", f"{SPLIT}/2")
    for name in ("node", "directory", "epoch"):
        assert (turned[f"{name}_a"], turned[f"{name}_b"]) == (row[f"{name}_b"], row[f"{name}_a"])
    assert turned["truncating_node"] == row["truncating_node"] == 2
    assert row["superseded_lost"] == 22, "a snapshot of node 3 proves the other branch"


@pytest.mark.usefixtures("recorded")
def test_the_text_tells_what_happened(kraftlake: Kraftlake) -> None:
    ended = kraftlake("diff", f"{SPLIT}/2", f"{SPLIT}/3")
    assert ended.code == 1
    assert ended.err == ""
    assert ended.lines[3:5] == [
        "diverged: both hold the same records from offset 0 up to offset 1525.",
        "At offset 1526 A has epoch 5, B has epoch 6.",
    ]
    assert "A from 1526 on, 22 records:" in ended.lines
    assert any(
        line.startswith("  1526  epoch 5") and "TOPIC_RECORD" in line and "ghost-" in line
        for line in ended.lines
    )
    assert any(
        line.startswith("  1526  epoch 6") and "LEADER_CHANGE" in line for line in ended.lines
    )
    assert ended.lines[-2].endswith("A truncates to offset 1526 after 1 diverging answer.")
    assert ended.lines[-1] == (
        "22 records of A lost: 0 committed, 22 never committed (another record is proven "
        "committed there), 0 unknown."
    )


def test_diff_of_unproven_records_names_check_which_needs_no_lake(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    assert kraftlake("simulate", "split-brain", "-o", tmp_path / "nodes").code == 0
    ended = kraftlake("diff", tmp_path / "nodes/1", tmp_path / "nodes/3")
    assert ended.lines[-2].endswith(" unknown.")
    assert ended.lines[-1] == (
        "Not known: whether 16 records of A were committed. The directories of voters 2, 4, 5 "
        "would show it. `kraftlake check` on the directories of all voters together can tell more."
    )


@pytest.mark.usefixtures("recorded")
def test_replicas_that_agree_exit_with_zero(kraftlake: Kraftlake) -> None:
    identical = kraftlake("diff", f"{SPLIT}/2", f"{SPLIT}/11")
    assert identical.code == 0
    assert identical.lines[-1].startswith("identical: ")
    behind = kraftlake("diff", "kafka-4.1.1-dynamic/final/1", "kafka-4.1.1-dynamic/final/2")
    assert behind.code == 0
    assert behind.lines[-1].startswith("A is behind B by 1 record. If B leads, A fetches it")


def test_a_replica_that_is_ahead_loses_what_a_leader_may_lack(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    assert kraftlake("simulate", "slow-follower", "-o", tmp_path / "nodes").code == 0
    told = kraftlake("diff", tmp_path / "nodes/1", tmp_path / "nodes/3")
    assert told.lines[-1] == (
        "B is behind A by 29 records. If A leads, B fetches them and loses nothing. If a voter "
        "with log end offset 21 leads, A truncates to 21 and loses 29 records: these two "
        "directories don't prove that they were committed."
    )
    assert told.code == 0


@pytest.mark.usefixtures("recorded")
def test_two_copies_of_one_replica_show_what_it_truncated(kraftlake: Kraftlake) -> None:
    grown = kraftlake("diff", "kafka-4.1.1-dynamic/live/2", f"{SPLIT}/2")
    assert grown.code == 0
    assert grown.lines[-1] == "B has 24 records more; nothing that A holds was rewritten."
    rewritten = kraftlake("diff", f"{SPLIT}/2", "kafka-4.1.1-dynamic/final/2")
    assert rewritten.code == 1
    assert "A and B are two captures of one replica." in rewritten.lines
    row = differ(kraftlake, f"{SPLIT}/2", "kafka-4.1.1-dynamic/final/2")
    assert row["directory_a"] == row["directory_b"]
    assert (row["truncating_node"], row["records_lost"]) == (2, 22)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (f"{SPLIT}/2", "kafka-3.7.2-static/split/2", "replicas of one cluster"),
        (SPLIT, f"{SPLIT}/2", "5 metadata directories below it"),
        (f"{SPLIT}/2/meta.properties", f"{SPLIT}/2", "a file; name a metadata directory"),
        ("nowhere", f"{SPLIT}/2", "no such file or directory"),
    ],
)
def test_directories_that_cannot_be_compared_are_refused(
    kraftlake: Kraftlake, a: str, b: str, reason: str
) -> None:
    ended = kraftlake("diff", a, b)
    assert ended.code == 2
    assert reason in ended.error


def test_a_copy_without_meta_properties_is_compared_all_the_same(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    copy = Path(
        shutil.copytree(recorded / SPLIT / "2/__cluster_metadata-0", tmp_path / "saved-from-disk")
    )
    row = differ(kraftlake, copy, f"{SPLIT}/3")
    assert (row["node_a"], row["directory_a"], row["truncating_node"]) == (None, None, None)
    assert (row["relation"], row["divergence_offset"]) == ("diverged", 1526)


def test_a_damaged_batch_is_named_and_keeps_diff_from_saying_all_is_well(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    copy = Path(shutil.copytree(recorded / SPLIT / "2", tmp_path / "2"))
    segment = copy / "__cluster_metadata-0/00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    content[2000] ^= 1
    segment.write_bytes(content)
    ended = kraftlake("diff", copy, f"{SPLIT}/2")
    assert ended.code == 1
    assert ended.complaints[0].startswith(f"{segment}: byte ")
    assert "Part of a log could not be read" in ended.lines[-1]


def test_other_bytes_in_one_epoch_are_a_conflict(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    copy = Path(shutil.copytree(recorded / SPLIT / "2", tmp_path / "2"))
    segment = copy / "__cluster_metadata-0/00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    header = decode_header(content)
    content[header.size_bytes - 4] ^= 1
    crc = computed_crc(content[: header.size_bytes])
    content[: HEADER.size] = encode_header(header._replace(crc=crc))
    segment.write_bytes(content)
    ended = kraftlake("diff", copy, f"{SPLIT}/3")
    assert ended.code == 1
    assert ended.lines[-1].startswith("Keep copies of both directories")
    assert differ(kraftlake, copy, f"{SPLIT}/3")["relation"] == "conflict"
