"""Damage to snapshots: bytes, delimiters, their place in the log, their content."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from replica.doctor.check.snapshot_validity import Validity
from replica.format.batch import HEADER
from replica.metadata.codec import decode, encode
from replica.metadata.record import MetadataRecord
from tests.replica.doctor.check.editing import (
    Place,
    append,
    batch_at,
    batches,
    findings,
    flip,
    judged,
    metadata,
    overwrite,
    places,
    segment,
    set_epoch,
    set_value,
    snapshot,
)
from tests.replica.scan.damaging import with_right_crc

DATA = Path(__file__).parents[3] / "data"
NAME = "00000000000000002571-0000000006.checkpoint"
Change = Callable[[Path], list[Place]]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The log from 0 to 3674 in epoch 6, snapshots 0-0 and 2571-6."""
    return Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A log that starts at 519, behind snapshot 519-5; another one is 1913-8."""
    return Path(shutil.copytree(DATA / "kafka-3.7.2-static/final/3", tmp_path / "node"))


def renamed(node: Path, offset: int, epoch: int) -> str:
    target = snapshot(node, offset, epoch)
    snapshot(node, 2571, 6).rename(target)
    return target.name


def a_flipped_byte(node: Path) -> list[Place]:
    batch = batches(snapshot(node, 2571, 6))[1]
    flip(snapshot(node, 2571, 6), batch.position + HEADER.size + 40)
    return [("crc-mismatch", NAME, batch.position)]


def a_cut_inside_a_batch(node: Path) -> list[Place]:
    path = snapshot(node, 2571, 6)
    last = batches(path)[-2]
    path.write_bytes(path.read_bytes()[: last.position + 100])
    return [("torn-segment", NAME, last.position)]


def no_footer(node: Path) -> list[Place]:
    path = snapshot(node, 2571, 6)
    *_, last, footer = batches(path)
    path.write_bytes(path.read_bytes()[: footer.position])
    return [("snapshot-footer", NAME, last.position)]


def no_header(node: Path) -> list[Place]:
    path = snapshot(node, 2571, 6)
    raw = bytearray(path.read_bytes())
    key = raw.index(b"\x00\x00\x00\x03", HEADER.size)
    raw[key + 3] = 4  # a footer, whose value is too long
    size = batches(path)[0].header.size_bytes
    path.write_bytes(with_right_crc(bytes(raw[:size])) + raw[size:])
    return [("snapshot-header", NAME, 0), ("undecodable-record", NAME, 0)]


def zero_bytes(node: Path) -> list[Place]:
    snapshot(node, 2571, 6).write_bytes(b"")
    return [("snapshot-empty", NAME, None)]


def zeros_at_the_end(node: Path) -> list[Place]:
    path = snapshot(node, 2571, 6)
    size = len(path.read_bytes())
    path.write_bytes(path.read_bytes() + bytes(512))
    return [("zero-hole", NAME, size)]


def a_batch_of_another_epoch(node: Path) -> list[Place]:
    batch = batches(snapshot(node, 2571, 6))[1]
    set_epoch(snapshot(node, 2571, 6), batch, 5)
    return [("snapshot-epoch", NAME, batch.position)]


def another_epoch_in_the_name(node: Path) -> list[Place]:
    name = renamed(node, 2571, 5)
    return [("snapshot-epoch", name, 0), ("snapshot-log-epoch", name, None)]


def another_offset_in_the_name(node: Path) -> list[Place]:
    """The id is off by one, as in KAFKA-14618: then it ends inside the batch 2552 to 2570."""
    name = renamed(node, 2570, 6)
    return [("snapshot-inside-batch", name, None)]


def a_later_offset_in_the_name(node: Path) -> list[Place]:
    name = renamed(node, 2598, 6)
    return [("snapshot-content", name, None), ("snapshot-timestamp", name, 0)]


def an_end_above_the_log_in_an_old_epoch(node: Path) -> list[Place]:
    name = renamed(node, 9999, 5)
    return [("snapshot-beyond-log", name, None), ("snapshot-epoch", name, 0)]


def another_state(node: Path) -> list[Place]:
    path = snapshot(node, 2571, 6)
    batch = batches(path)[-2]

    def change(value: bytes) -> bytes:
        record = decode(value)
        assert isinstance(record, MetadataRecord)
        assert record.type == "PARTITION_RECORD" or "name" in record.fields, record
        field = "leaderEpoch" if record.type == "PARTITION_RECORD" else "name"
        return encode(record.with_fields({field: 77 if field == "leaderEpoch" else "other"}))

    set_value(path, batch, change)
    return [("snapshot-content", NAME, None)]


def an_end_inside_a_transaction(node: Path) -> list[Place]:
    append(segment(node, 2722), metadata("BEGIN_TRANSACTION_RECORD"))
    append(segment(node, 2722), metadata("NO_OP_RECORD"))
    append(segment(node, 2722), metadata("END_TRANSACTION_RECORD"))
    name = renamed(node, 3675, 6)
    return [
        ("snapshot-content", name, None),
        ("snapshot-inside-transaction", name, None),
        ("snapshot-timestamp", name, 0),
    ]


CHANGES: tuple[Change, ...] = (
    a_flipped_byte,
    a_cut_inside_a_batch,
    no_footer,
    no_header,
    zero_bytes,
    zeros_at_the_end,
    a_batch_of_another_epoch,
    another_epoch_in_the_name,
    another_offset_in_the_name,
    a_later_offset_in_the_name,
    an_end_above_the_log_in_an_old_epoch,
    another_state,
    an_end_inside_a_transaction,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_damage_is_found_by_rule_file_and_byte(node: Path, change: Change) -> None:
    expected = change(node)
    (member,) = judged(node).members
    assert places(member.findings) == sorted(expected, key=str)
    verdicts = {verdict.id.offset: verdict for verdict in member.verdicts}
    assert verdicts.pop(0).validity is Validity.VALID
    (verdict,) = verdicts.values()
    assert verdict.validity is Validity.INVALID
    assert places(verdict.broken) == sorted(expected, key=str)


def tell_time(node: Path, end: int, epoch: int, at: int) -> None:
    """Put another LastContainedLogTimestamp into the header of a snapshot."""
    path = snapshot(node, end, epoch)
    set_value(path, batches(path)[0], lambda v: v[:2] + at.to_bytes(8, "big") + v[10:], index=0)


@pytest.mark.parametrize("record_type", ["BEGIN_TRANSACTION_RECORD", "NO_OP_RECORD"])
def test_a_snapshot_may_have_the_time_of_a_later_batch_of_its_epoch(
    node: Path, record_type: str
) -> None:
    """A leader of Kafka reads the time from a buffer that it uses again meanwhile."""
    log = segment(node, 2722)
    end = batches(log)[-1].header.next_offset
    times = []
    for later_ms in (251, 400, 700):
        append(log, metadata(record_type), later_ms=later_ms)
        times.append(batches(log)[-1].header.max_timestamp)
    name = renamed(node, end, 6)
    place = ("snapshot-timestamp", name, 0)
    before = batch_at(log, end).header.max_timestamp - 251
    for at, is_possible in (
        (before, True),
        *((at, True) for at in times),  # of the next batch, and of later ones
        (times[-1] + 5, True),  # of a batch that was the leader's last, and never came into the log
        (times[0] + 1, False),  # such a batch would be in the log
        (before - 1, False),
    ):
        tell_time(node, end, 6, at)
        assert (place not in places(findings(node))) is is_possible, at - before


def test_a_snapshot_may_not_have_the_time_of_a_batch_of_another_leader(node: Path) -> None:
    log = segment(node, 2722)
    end = batches(log)[-1].header.next_offset
    append(log, metadata("NO_OP_RECORD"), later_ms=100)
    append(log, metadata("NO_OP_RECORD"), later_ms=100)
    append(log, metadata("NO_OP_RECORD"), later_ms=-50, epoch=7)
    name = renamed(node, end, 6)
    tell_time(node, end, 6, batches(log)[-1].header.max_timestamp)
    assert ("snapshot-timestamp", name, 0) in places(findings(node))


def test_a_snapshot_newer_than_the_log_is_legal(node: Path) -> None:
    name = renamed(node, 9999, 6)
    found = findings(node)
    assert places(found) == []
    assert ("snapshot-newer-than-log", name, None) in places(found, info=True)


def test_a_changed_value_is_not_shown(node: Path) -> None:
    another_state(node)
    (finding,) = [f for f in findings(node) if f.rule.id == "snapshot-content"]
    assert "1 entity differ" in finding.message or "entities differ" in finding.message
    assert "77" not in finding.message.replace("2571", "")


def test_a_log_whose_head_is_gone_needs_a_snapshot(cut: Path) -> None:
    for path in (cut / "__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    assert places(findings(cut)) == [("log-start-without-snapshot", segment(cut, 519).name, None)]


def test_a_lost_snapshot_behind_which_the_log_starts_is_missed(tmp_path: Path) -> None:
    """Segment 519 holds leftovers below the log start, 1913, which is where the snapshot ended."""
    node = Path(shutil.copytree(DATA / "kafka-3.7.2-static/final/12", tmp_path / "node"))
    assert places(findings(node)) == []
    snapshot(node, 1913, 8).unlink()
    assert places(findings(node)) == [
        ("epoch-checkpoint-mismatch", "leader-epoch-checkpoint", 4),
        ("log-start-without-snapshot", segment(node, 519).name, None),
    ]


def test_offsets_between_the_newest_snapshot_and_the_log_must_not_be_missing(cut: Path) -> None:
    snapshot(cut, 1913, 8).unlink()
    path = segment(cut, 519)
    begin = next(b for b in batches(path) if b.header.base_offset >= 600)
    offset = begin.header.base_offset
    segment(cut, offset).write_bytes(path.read_bytes()[begin.position :])
    path.unlink()
    assert places(findings(cut)) == [("snapshot-log-hole", segment(cut, offset).name, None)]


@pytest.mark.parametrize("is_zero", [True, False])
def test_a_log_whose_first_bytes_are_damaged_still_starts_at_its_first_segment(
    node: Path, is_zero: bool
) -> None:
    """Kafka takes the log start from the segment's name, and cuts the log at the damage."""
    for path in (node / "__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    first = segment(node, 0)
    head = batches(first)[1].position
    overwrite(first, 0, bytes(head) if is_zero else b"\xff" * head)
    rules = {rule for rule, _, _ in places(findings(node))}
    assert "offset-gap" in rules
    assert not rules & {"log-start-without-snapshot", "snapshot-log-hole"}


def test_a_damaged_snapshot_does_not_cover_the_log_start(cut: Path) -> None:
    snapshot(cut, 1913, 8).unlink()
    path = snapshot(cut, 519, 5)
    path.write_bytes(path.read_bytes()[: batches(path)[-1].position])
    found = places(findings(cut))
    assert ("log-start-without-snapshot", segment(cut, 519).name, None) in found
    assert [rule for rule, _, _ in found].count("snapshot-footer") == 1


def test_a_snapshot_is_verified_from_an_older_one(cut: Path) -> None:
    (member,) = judged(cut).members
    told = {verdict.id.offset: verdict.validity for verdict in member.verdicts}
    assert told == {519: Validity.UNVERIFIABLE, 1913: Validity.VALID}


def test_nothing_is_verified_across_damage(node: Path) -> None:
    batch = batches(segment(node, 0))[40]
    flip(segment(node, 0), batch.position + HEADER.size + 3)
    (member,) = judged(node).members
    told = {verdict.id.offset: verdict.validity for verdict in member.verdicts}
    assert told == {0: Validity.VALID, 2571: Validity.UNVERIFIABLE}


def test_a_damaged_bootstrap_checkpoint_is_named(node: Path) -> None:
    path = node / "bootstrap.checkpoint"
    path.write_bytes(b"")
    assert places(findings(node)) == [("snapshot-empty", "bootstrap.checkpoint", None)]
    shutil.copy(snapshot(node, 2571, 6), path)
    flip(path, batches(path)[1].position + 80)
    assert [rule for rule, _, _ in places(findings(node))] == ["crc-mismatch"]


def test_where_segments_overlap_a_snapshots_place_is_judged_by_the_newest_as_kafka_reads_it(
    node: Path,
) -> None:
    old = segment(node, 1262)
    (holder,) = (b for b in batches(old) if b.header.base_offset <= 2570 < b.header.next_offset)
    segment(node, holder.header.base_offset).write_bytes(old.read_bytes()[holder.position :])
    set_epoch(old, holder, 5)
    about_snapshots = [one for one in places(findings(node)) if one[0].startswith("snapshot")]
    assert about_snapshots == []
