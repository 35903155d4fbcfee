"""Damage to segments: each is found by its rule, in its file, at its byte, and nothing else is."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from replica.format.batch import HEADER
from tests.replica.doctor.check.editing import (
    Place,
    append,
    append_leader_change,
    batch_at,
    batches,
    control_batch,
    data_batch,
    edit_text,
    file,
    findings,
    flip,
    metadata,
    overwrite,
    places,
    segment,
    set_epoch,
    set_value,
)

DATA = Path(__file__).parents[3] / "data"
NODE = "kafka-4.1.1-dynamic/final/3"
FIRST, MIDDLE, LAST = (
    "00000000000000000000.log",
    "00000000000000001262.log",
    ("00000000000000002722.log"),
)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A sound copy: segments 0, 1262 and 2722, the log ends at 3674 in epoch 6."""
    return Path(shutil.copytree(DATA / NODE, tmp_path / "node"))


def a_flipped_byte_in_a_record(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    flip(segment(node, 1262), batch.position + HEADER.size + 3)
    return [("crc-mismatch", MIDDLE, batch.position)]


def a_flipped_checksum(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 0))
    flip(segment(node, 0), batch.position + 17)
    return [("crc-mismatch", FIRST, batch.position)]


def an_overwritten_length(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    overwrite(segment(node, 1262), batch.position + 8, struct.pack(">i", 7))
    following = batch.position + batch.header.size_bytes
    return [("framing", MIDDLE, batch.position), ("offset-gap", MIDDLE, following)]


def another_magic(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    overwrite(segment(node, 1262), batch.position + 16, b"\x01")
    following = batch.position + batch.header.size_bytes
    return [("offset-gap", MIDDLE, following), ("unsupported-magic", MIDDLE, batch.position)]


def a_batch_of_zeros(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    size = batch.header.size_bytes
    overwrite(segment(node, 1262), batch.position, bytes(size))
    following = batch.position + size
    return [("offset-gap", MIDDLE, following), ("zero-hole", MIDDLE, batch.position)]


def a_cut_segment_in_the_middle(node: Path) -> list[Place]:
    path = segment(node, 1262)
    last = batches(path)[-1]
    path.write_bytes(path.read_bytes()[: last.position + 40])
    return [("offset-gap", LAST, 0), ("torn-segment", MIDDLE, last.position)]


def a_batch_taken_out(node: Path) -> list[Place]:
    path = segment(node, 1262)
    batch = data_batch(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: batch.position] + raw[batch.position + batch.header.size_bytes :])
    moved = [("index-mismatch", MIDDLE.replace(".log", ".index"), 8)]
    return [*moved, ("offset-gap", MIDDLE, batch.position)]


def a_deleted_segment_in_the_middle(node: Path) -> list[Place]:
    segment(node, 1262).unlink()
    return [("offset-gap", LAST, 0)]


def a_base_offset_that_goes_back(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    overwrite(segment(node, 1262), batch.position, struct.pack(">q", 3))
    return [("offset-goes-back", MIDDLE, batch.position)]


def a_renamed_segment(node: Path) -> list[Place]:
    segment(node, 2722).rename(segment(node, 2725))
    renamed = LAST.replace("2722", "2725")
    return [("segment-name", renamed, 0)]


def two_swapped_segments(node: Path) -> list[Place]:
    first, second = segment(node, 1262), segment(node, 2722)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    return [
        ("offset-gap", MIDDLE, 0),
        ("offset-goes-back", LAST, 0),
        ("index-mismatch", MIDDLE.replace(".log", ".index"), 0),
        ("segment-name", MIDDLE, 0),
        ("segment-name", LAST, 0),
    ]


def a_flipped_epoch(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 1262))
    set_epoch(segment(node, 1262), batch, 5 ^ 64)
    return [("epoch-mismatch", MIDDLE, batch.position)]


def a_flipped_epoch_of_a_leader_change(node: Path) -> list[Place]:
    batch = batch_at(segment(node, 1262), 1526)
    assert batch.header.is_control
    set_epoch(segment(node, 1262), batch, 70)
    return [("epoch-mismatch", MIDDLE, batch.position)]


def an_epoch_that_goes_back(node: Path) -> list[Place]:
    position = append_leader_change(segment(node, 2722), 4, leader=3)
    return [("epoch-goes-back", LAST, position)]


def a_record_that_does_not_decode(node: Path) -> list[Place]:
    batch = data_batch(segment(node, 2722), 1)
    set_value(segment(node, 2722), batch, lambda value: value[:2] + b"\x00\xff\xff")
    return [("undecodable-record", LAST, batch.position)]


def a_control_record_that_does_not_decode(node: Path) -> list[Place]:
    batch = control_batch(segment(node, 0))
    set_value(segment(node, 0), batch, lambda value: value[:2] + b"\xff" * (len(value) - 2))
    return [("undecodable-record", FIRST, batch.position)]


def a_record_of_an_unknown_type(node: Path) -> list[Place]:
    position = append(segment(node, 2722), b"\x01\x63\x00\x00")
    return [("unknown-record-type", LAST, position)]


def a_record_of_another_product(node: Path) -> list[Place]:
    position = append(segment(node, 2722), b"\x01\xf5\x03\x00\x2a")  # type 501
    return [("vendor-record-type", LAST, position)]


def a_record_of_an_unknown_version(node: Path) -> list[Place]:
    position = append(segment(node, 2722), b"\x01\x02\x0f\x00")
    return [("unknown-record-version", LAST, position)]


def a_record_that_cannot_be_applied(node: Path) -> list[Place]:
    fence = metadata("FENCE_BROKER_RECORD", id=77, epoch=1)
    position = append(segment(node, 2722), fence)
    return [("unappliable-record", LAST, position)]


def a_batch_above_the_limit(node: Path) -> list[Place]:
    name = "x" * (8 * 1024 * 1024)
    value = metadata("CONFIG_RECORD", resourceType=2, resourceName="t", name="n", value=name)
    position = append(segment(node, 2722), value)
    return [("batch-too-large", LAST, position)]


DAMAGES: tuple[Callable[[Path], list[Place]], ...] = (
    a_flipped_byte_in_a_record,
    a_flipped_checksum,
    an_overwritten_length,
    another_magic,
    a_batch_of_zeros,
    a_cut_segment_in_the_middle,
    a_batch_taken_out,
    a_deleted_segment_in_the_middle,
    a_base_offset_that_goes_back,
    a_renamed_segment,
    two_swapped_segments,
    a_flipped_epoch,
    a_flipped_epoch_of_a_leader_change,
    an_epoch_that_goes_back,
    a_record_that_does_not_decode,
    a_control_record_that_does_not_decode,
    a_record_of_an_unknown_type,
    a_record_of_another_product,
    a_record_of_an_unknown_version,
    a_record_that_cannot_be_applied,
    a_batch_above_the_limit,
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found_by_rule_file_and_byte(
    node: Path, damage: Callable[[Path], list[Place]]
) -> None:
    expected = damage(node)
    assert places(findings(node)) == sorted(expected, key=str)


def a_torn_end_of_the_log(node: Path) -> list[Place]:
    path = segment(node, 2722)
    last = batches(path)[-1]
    path.write_bytes(path.read_bytes()[: last.position + 30])
    return [("torn-tail", LAST, last.position)]


def a_transaction_without_an_end(node: Path) -> list[Place]:
    position = append(segment(node, 2722), metadata("BEGIN_TRANSACTION_RECORD"))
    return [("open-transaction", LAST, position)]


NOTES = (a_torn_end_of_the_log, a_transaction_without_an_end)


@pytest.mark.parametrize("change", NOTES, ids=lambda change: change.__name__)
def test_normal_states_of_a_log_are_notes(
    node: Path, change: Callable[[Path], list[Place]]
) -> None:
    before = places(findings(node), info=True)
    expected = change(node)
    found = findings(node)
    assert places(found) == []
    assert places(found, info=True) == sorted([*before, *expected], key=str)


def test_epoch_churn_is_told_with_its_span(node: Path) -> None:
    for epoch in range(7, 32):
        append_leader_change(segment(node, 2722), epoch, leader=1 + epoch % 3)
    (churn,) = [f for f in findings(node) if f.rule.id == "epoch-churn"]
    assert churn.message.startswith("30 new epochs in ")
    assert churn.message.endswith(", 1 to 31")


def test_a_refused_record_names_the_earlier_ones_that_explain_it(node: Path) -> None:
    path = segment(node, 2722)
    topic_id = "AAAAAAAAAAAAAAAAAAAABw"
    append(path, metadata("TOPIC_RECORD", name="t", topicId=topic_id))
    append(path, metadata("REMOVE_TOPIC_RECORD", topicId=topic_id))
    append(path, metadata("REMOVE_TOPIC_RECORD", topicId=topic_id))
    (refused,) = [f for f in findings(node) if f.rule.id == "unappliable-record"]
    assert refused.offset == 3676
    assert "see the record at offset 3675" in refused.message


def test_the_rest_is_judged_behind_damage(node: Path) -> None:
    first = a_flipped_byte_in_a_record(node)
    second = a_record_of_an_unknown_type(node)
    third = a_flipped_checksum(node)
    assert places(findings(node)) == sorted([*first, *second, *third], key=str)


def test_a_finding_names_the_batch_at_its_byte_or_the_offset_that_was_expected_there(
    node: Path,
) -> None:
    sound, gone = (batches(segment(node, 1262))[number] for number in (3, 8))
    flip(segment(node, 1262), sound.position + HEADER.size + 3)
    overwrite(segment(node, 1262), gone.position + 8, struct.pack(">i", 7))
    found = {one.rule.id: (one.offset, one.epoch) for one in findings(node)}
    assert found["crc-mismatch"] == (sound.header.base_offset, sound.header.leader_epoch)
    assert found["framing"] == (gone.header.base_offset, None)


@pytest.mark.parametrize(
    ("line", "told"),
    [("3 760", "by the log it starts at 751"), ("4 751", "the log has no batch of that epoch")],
)
def test_an_entry_of_the_epoch_checkpoint_is_held_to_the_log(
    node: Path, line: str, told: str
) -> None:
    edit_text(file(node, "leader-epoch-checkpoint"), "3 751", line)
    messages = [one.message for one in findings(node) if one.position == 14]
    assert len(messages) == 1
    assert told in messages[0]


def test_an_epoch_checkpoint_that_cannot_be_read_is_not_called_missing(node: Path) -> None:
    path = file(node, "leader-epoch-checkpoint")
    path.unlink()
    path.symlink_to("nowhere")
    assert "epoch-checkpoint-missing" not in {one.rule.id for one in findings(node)}
