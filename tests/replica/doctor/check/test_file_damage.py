"""Damage to the files beside the log: each is found by its rule, in its file, at its byte."""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from replica.doctor.check import epoch_checkpoint
from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.check.state_files import judge_state_files, known_of
from replica.errors import UnreadableFileError
from replica.format.discovery import discover
from replica.format.leader_epoch_checkpoint import encode as encode_epochs
from replica.format.reading import VanishedFileError, read_file
from replica.model.epochs import EpochStart
from tests.replica.doctor.check.editing import (
    Place,
    edit_quorum_state,
    edit_text,
    file,
    findings,
    judged,
    overwrite,
    places,
    segment,
)

DATA = Path(__file__).parents[3] / "data"
CHECKPOINT, STATE, META = "leader-epoch-checkpoint", "quorum-state", "meta.properties"
INDEX, TIMES = "00000000000000001262.index", "00000000000000001262.timeindex"

Change = Callable[[Path], list[Place]]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """kraft.version 1: epochs 1, 2, 3, 5 and 6 from 0, 501, 751, 1023 and 1526."""
    return Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """kraft.version 0: voters 1, 2 and 3 in quorum-state, leader 3 of epoch 8."""
    return Path(shutil.copytree(DATA / "kafka-3.7.2-static/final/1", tmp_path / "node"))


def an_edited_epoch_start(node: Path) -> list[Place]:
    edit_text(file(node, CHECKPOINT), "3 751", "3 760")
    return [("epoch-checkpoint-mismatch", CHECKPOINT, 14)]


def an_epoch_that_the_log_never_had(node: Path) -> list[Place]:
    edit_text(file(node, CHECKPOINT), "3 751", "4 751")
    return [
        ("epoch-checkpoint-mismatch", CHECKPOINT, 14),
        ("epoch-checkpoint-mismatch", CHECKPOINT, None),
    ]


def a_forgotten_epoch(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_text("0\n4\n1 0\n2 501\n3 751\n6 1526\n")
    return [("epoch-checkpoint-mismatch", CHECKPOINT, None)]


def a_wrong_epoch_below_forgotten_ones(node: Path) -> list[Place]:
    """Kafka adds 5 and 6, and goes on with the wrong start of 3."""
    file(node, CHECKPOINT).write_text("0\n3\n1 0\n2 501\n3 760\n")
    return [
        ("epoch-checkpoint-mismatch", CHECKPOINT, 14),
        *[("epoch-checkpoint-mismatch", CHECKPOINT, None)] * 2,
    ]


def forgotten_first_epochs(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_text("0\n2\n5 1100\n6 1526\n")
    return [("epoch-checkpoint-mismatch", CHECKPOINT, 4)]


def epochs_in_another_order(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_text("0\n5\n1 0\n3 751\n2 501\n5 1023\n6 1526\n")
    return [("epoch-checkpoint-order", CHECKPOINT, 14)]


def a_checkpoint_of_zero_bytes(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_bytes(b"")
    return [("state-file-broken", CHECKPOINT, None)]


def a_checkpoint_with_a_broken_line(node: Path) -> list[Place]:
    edit_text(file(node, CHECKPOINT), "3 751", "3 x51")
    return [("state-file-broken", CHECKPOINT, 14)]


def no_checkpoint(node: Path) -> list[Place]:
    file(node, CHECKPOINT).unlink()
    return [("epoch-checkpoint-missing", "", None)]


def no_quorum_state(node: Path) -> list[Place]:
    file(node, STATE).unlink()
    return [("quorum-state-missing", "", None)]


def a_quorum_state_that_is_no_json(node: Path) -> list[Place]:
    edit_text(file(node, STATE), '"leaderEpoch"', "leaderEpoch")
    return [("state-file-broken", STATE, 14)]


def a_quorum_state_of_an_older_epoch(node: Path) -> list[Place]:
    edit_quorum_state(node, leaderEpoch=5, leaderId=2)
    return [("quorum-state-behind", STATE, None)]


def another_leader_of_the_epoch(node: Path) -> list[Place]:
    edit_quorum_state(node, leaderId=1)
    return [("quorum-state-leader", STATE, None)]


def a_vote_for_a_stranger(node: Path) -> list[Place]:
    edit_quorum_state(node, votedId=9)
    return [("quorum-state-vote", STATE, None)]


def an_applied_offset_beyond_the_log(node: Path) -> list[Place]:
    edit_quorum_state(node, appliedOffset=999999)
    return [("quorum-state-applied-offset", STATE, None)]


def a_quorum_state_of_another_cluster(node: Path) -> list[Place]:
    edit_quorum_state(node, clusterId="MkU3OEVBNTcwNTJENDM2Qg")
    return [("quorum-state-cluster", STATE, None)]


def no_meta_properties(node: Path) -> list[Place]:
    (node / META).unlink()
    return [("meta-properties-missing", "", None)]


def meta_properties_without_a_cluster(node: Path) -> list[Place]:
    edit_text(node / META, "cluster.id=", "cluster.idea=")
    return [("meta-properties-broken", META, None)]


def meta_properties_of_no_version(node: Path) -> list[Place]:
    (node / META).write_text("version=x\n")
    return [("meta-properties-broken", META, 0)]


def the_disk_of_another_voter(node: Path) -> list[Place]:
    edit_text(node / META, "YabyXINkS7WFoc_9PzSg0w", "w1rJ2UULXXXZu6RS0Vk1kg")
    return [("voter-directory-id", META, None)]


def another_topic(node: Path) -> list[Place]:
    path = file(node, "partition.metadata")
    edit_text(path, "AAAAAAAAAAAAAAAAAAAAAQ", "w1rJ2UULXXXZu6RS0Vk1kg")
    return [("topic-id", "partition.metadata", None)]


def an_index_entry_beside_a_batch(node: Path) -> list[Place]:
    overwrite(file(node, INDEX), 12, struct.pack(">i", 8200))
    return [("index-mismatch", INDEX, 8)]


def an_index_entry_of_another_offset(node: Path) -> list[Place]:
    (relative,) = struct.unpack_from(">i", file(node, INDEX).read_bytes(), 8)
    overwrite(file(node, INDEX), 8, struct.pack(">i", relative + 1))
    return [("index-mismatch", INDEX, 8)]


def an_index_with_a_ragged_end(node: Path) -> list[Place]:
    path = file(node, INDEX)
    size = len(path.read_bytes())
    path.write_bytes(path.read_bytes()[:-3])
    return [("index-broken", INDEX, size - 8)]


def a_time_index_entry_of_another_time(node: Path) -> list[Place]:
    path = file(node, TIMES)
    (time,) = struct.unpack_from(">q", path.read_bytes(), 12)
    overwrite(path, 12, struct.pack(">q", time + 1))
    return [("index-mismatch", TIMES, 12)]


def a_producer_snapshot_cut_off(node: Path) -> list[Place]:
    name = "00000000000000002722.snapshot"
    file(node, name).write_bytes(b"\x00\x01\x02")
    found = [f for f in places(findings(node)) if f[1] == name]
    assert found
    return [("producer-snapshot-broken", name, found[0][2])]


def a_link_to_nowhere(node: Path) -> list[Place]:
    file(node, STATE).unlink()
    os.symlink("nowhere", file(node, STATE))
    return [("unreadable", STATE, None)]


CHANGES: tuple[Change, ...] = (
    an_edited_epoch_start,
    an_epoch_that_the_log_never_had,
    a_forgotten_epoch,
    a_wrong_epoch_below_forgotten_ones,
    forgotten_first_epochs,
    epochs_in_another_order,
    a_checkpoint_of_zero_bytes,
    a_checkpoint_with_a_broken_line,
    no_checkpoint,
    no_quorum_state,
    a_quorum_state_that_is_no_json,
    a_quorum_state_of_an_older_epoch,
    another_leader_of_the_epoch,
    a_vote_for_a_stranger,
    an_applied_offset_beyond_the_log,
    a_quorum_state_of_another_cluster,
    no_meta_properties,
    meta_properties_without_a_cluster,
    meta_properties_of_no_version,
    the_disk_of_another_voter,
    another_topic,
    an_index_entry_beside_a_batch,
    an_index_entry_of_another_offset,
    an_index_with_a_ragged_end,
    a_time_index_entry_of_another_time,
    a_producer_snapshot_cut_off,
    a_link_to_nowhere,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_damage_is_found_by_rule_file_and_byte(node: Path, change: Change) -> None:
    expected = change(node)
    assert places(findings(node)) == sorted(expected, key=str)


def test_an_observer_without_a_quorum_state_has_no_vote_that_it_could_forget(node: Path) -> None:
    no_quorum_state(node)
    meta = node / META
    meta.write_text(re.sub("node.id=.*", "node.id=12", meta.read_text()))
    assert ("observer-without-quorum-state", "", None) in places(findings(node), info=True)
    assert places(findings(node)) == []


def test_other_voters_in_the_quorum_state_of_a_static_quorum(static: Path) -> None:
    edit_quorum_state(static, currentVoters=[{"voterId": 1}, {"voterId": 3}])
    assert places(findings(static)) == [("quorum-state-voters", STATE, None)]


@pytest.mark.parametrize(
    ("ahead", "leader", "rules"),
    [(5, -1, ["elections-without-winner"]), (4, -1, []), (40, 2, [])],
)
def test_many_epochs_without_a_leader_are_elections_that_nobody_won(
    node: Path, ahead: int, leader: int, rules: list[str]
) -> None:
    """A node that knows the leader of a newer epoch only lacks its records."""
    epoch = 6 + ahead
    edit_quorum_state(node, leaderEpoch=epoch, leaderId=leader, votedId=-1)
    assert [rule for rule, file, _ in places(findings(node)) if file == STATE] == rules


def test_a_leader_who_was_removed_before_the_log_s_start_is_no_stranger(node: Path) -> None:
    """The LeaderChange of its epoch, and the voters of that time, are behind a snapshot."""
    edit_quorum_state(node, leaderId=9, votedId=-1)
    (one,) = judged(node).members
    known = known_of(one.examined, (), one.examined.leader_changes)
    found = judge_state_files(one.examined, replace(known, last_epoch=6, changes=()))
    assert "quorum-state-vote" not in {finding.rule.id for finding in found}
    found = judge_state_files(one.examined, replace(known, last_epoch=6))
    assert "quorum-state-vote" in {finding.rule.id for finding in found}


def a_newer_quorum_state(node: Path) -> list[Place]:
    edit_quorum_state(node, leaderEpoch=9, leaderId=9)
    return [("quorum-state-ahead", STATE, None)]


def an_epoch_that_is_about_to_begin(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_text("0\n6\n1 0\n2 501\n3 751\n5 1023\n6 1526\n7 3674\n")
    return [("epoch-checkpoint-ahead", CHECKPOINT, 34)]


def forgotten_newest_epochs(node: Path) -> list[Place]:
    """As after a power cut: Kafka adds them at its start."""
    file(node, CHECKPOINT).write_text("0\n2\n1 0\n2 501\n")
    return [("epoch-checkpoint-behind", CHECKPOINT, None)] * 3


def no_epochs_at_all(node: Path) -> list[Place]:
    file(node, CHECKPOINT).write_text("0\n0\n")
    return [("epoch-checkpoint-behind", CHECKPOINT, None)] * 5


def a_snapshot_being_written(node: Path) -> list[Place]:
    whole = file(node, "00000000000000002571-0000000006.checkpoint").read_bytes()
    name = "00000000000000003000-0000000006-77.checkpoint.part"
    file(node, name).write_bytes(whole[:5000])
    return [("leftover", name, None)]


def an_index_left_behind(node: Path) -> list[Place]:
    name = "00000000000000009999.index"
    file(node, name).write_bytes(b"")
    return [("index-without-segment", name, None)]


NOTES = (
    a_newer_quorum_state,
    an_epoch_that_is_about_to_begin,
    forgotten_newest_epochs,
    no_epochs_at_all,
    a_snapshot_being_written,
    an_index_left_behind,
)


@pytest.mark.parametrize("change", NOTES, ids=lambda change: change.__name__)
def test_normal_states_of_files_are_notes(node: Path, change: Change) -> None:
    before = places(findings(node), info=True)
    expected = change(node)
    assert places(findings(node)) == []
    assert places(findings(node), info=True) == sorted([*before, *expected], key=str)


def test_an_index_of_zero_bytes_is_legal(node: Path) -> None:
    file(node, INDEX).write_bytes(b"")
    file(node, TIMES).write_bytes(b"")
    assert places(findings(node)) == []


def test_a_file_that_vanishes_is_a_running_node(node: Path) -> None:
    def read(path: str, limit: int) -> bytes:
        if path.endswith("2571-0000000006.checkpoint"):
            raise VanishedFileError(path, "file is gone")
        return read_file(path, limit)

    (found,) = discover([str(node)])
    (member,) = judge_group([examine(found, read)]).members
    assert places(member.findings) == []
    gone = ("changed-while-read", "00000000000000002571-0000000006.checkpoint", None)
    assert gone in places(member.findings, info=True)


def test_a_file_that_cannot_be_read_leaves_the_rest_judged(node: Path) -> None:
    def read(path: str, limit: int) -> bytes:
        if path.endswith("1262.log"):
            raise UnreadableFileError(path, "Input/output error")
        return read_file(path, limit)

    (found,) = discover([str(node)])
    (member,) = judge_group([examine(found, read)]).members
    assert places(member.findings) == [
        ("offset-gap", segment(node, 2722).name, 0),
        ("unreadable", segment(node, 1262).name, None),
    ]


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    (member,) = judged(path).members
    assert places(member.findings) == [("not-kafka", "notes.txt", None)]


def test_a_file_on_its_own_lacks_nothing(node: Path) -> None:
    for path in (segment(node, 2722), file(node, STATE), file(node, CHECKPOINT), file(node, INDEX)):
        assert places(findings(path), info=True) == []


def test_many_wrong_epochs_take_time_that_grows_with_their_number(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = []
    monkeypatch.setattr(epoch_checkpoint, "encode", lambda e: encoded.append(e) or encode_epochs(e))
    wrong = tuple(EpochStart(epoch, 1 + 2 * epoch) for epoch in range(10, 2010))
    file(node, CHECKPOINT).write_bytes(encode_epochs(wrong))
    found = [one for one in findings(node) if one.rule.id.startswith("epoch-checkpoint")]
    placed = [one for one in found if one.position is not None]
    assert len(placed) == 101, "the last one counts the others"
    assert int(placed[-1].message.split()[0]) >= 1400
    assert len(encoded) < 4, "the file is written anew for its positions once, not for each"
