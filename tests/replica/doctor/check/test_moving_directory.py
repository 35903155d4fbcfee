"""The directory of a running node, changed between the reads: no finding above a note."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import judge_group
from replica.doctor.check.rule import Finding
from replica.format.discovery import discover
from replica.format.leader_epoch_checkpoint import decode, encode
from replica.format.reading import read_file
from replica.model.epochs import EpochStart
from tests.examples import examples
from tests.replica.doctor.check.editing import FOLDER, batches, file, places, segment

DATA = Path(__file__).parents[3] / "data"
CHECKPOINT = "leader-epoch-checkpoint"
STATES = ("live", "split", "final")
REPLICAS = [
    f"{cluster}/{{}}/{node}"
    for cluster, nodes in (("kafka-3.7.2-static", "1 2 3 11"), ("kafka-4.1.1-dynamic", "2 3 11"))
    for node in nodes.split()
]
"""Directories that three captures show, the last after truncations."""


class Moving:
    """Reads files, and changes the directory behind chosen reads.

    changes: a file's name, or the number of a read of any file, counted from 0, to what happens
    once that has been read; each happens once.
    """

    def __init__(self, changes: dict[str | int, Callable[[], None]]) -> None:
        self.changes = dict(changes)
        self.reads = 0

    def __call__(self, path: str, limit: int) -> bytes:
        try:
            return read_file(path, limit)
        finally:
            for key in (Path(path).name, self.reads):
                self.changes.pop(key, lambda: None)()
            self.reads += 1


def become(node: Path, state: Path) -> Callable[[], None]:
    """Change the node's directory into the other one."""

    def change() -> None:
        shutil.rmtree(node)
        shutil.copytree(state, node)

    return change


def examined(node: Path, read: Moving) -> Examined:
    (found,) = discover([str(node)])
    return examine(found, read)


def told(one: Examined) -> tuple[Finding, ...]:
    (member,) = judge_group([one]).members
    return member.findings


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """Node 2 of the static quorum with a branch that it will truncate at offset 750."""
    return Path(shutil.copytree(DATA / "kafka-3.7.2-static/split/2", tmp_path / "2"))


@pytest.mark.parametrize("name", [f"{0:020d}.log", CHECKPOINT])
def test_a_truncation_behind_the_reading_of_the_log_is_read_anew(split: Path, name: str) -> None:
    final = DATA / "kafka-3.7.2-static/final/2"
    one = examined(split, Moving({name: become(split, final)}))
    assert places(told(one)) == []
    (settled,) = discover([str(final)])
    assert one.directory.leader_epochs == examine(settled).directory.leader_epochs
    assert one.directory.log_end_offset == examine(settled).directory.log_end_offset


def test_a_segment_that_rolls_while_another_file_goes_leaves_no_gap(split: Path) -> None:
    path = segment(split, 0)
    whole = path.read_bytes()
    located = batches(path)
    now, rolled = located[40], located[60]
    path.write_bytes(whole[: now.position])
    for index in (split / FOLDER).glob("*index"):
        index.unlink()  # they are of the whole log
    going = file(split, f"{1:020d}.log.deleted")
    going.write_bytes(b"")

    def roll() -> None:
        path.write_bytes(whole[: rolled.position])
        segment(split, rolled.header.base_offset).write_bytes(whole[rolled.position :])
        going.unlink()

    one = examined(split, Moving({path.name: roll}))
    assert places(told(one)) == []
    assert [found.base_offset for found in one.directory.segments] == [
        0,
        rolled.header.base_offset,
    ]


class Restless(Moving):
    """Another leader epoch each time the checkpoint is read, and segments that are always gone."""

    def __init__(self, gone: tuple[str, ...] = ()) -> None:
        super().__init__({})
        self.gone = gone

    def __call__(self, path: str, limit: int) -> bytes:
        if Path(path).name in self.gone:
            return super().__call__(f"{path}.gone", limit)
        data = super().__call__(path, limit)
        if Path(path).name == CHECKPOINT:
            entries = decode(data)
            return encode((*entries, EpochStart(entries[-1].epoch + self.reads, 10_000)))
        return data


def test_a_checkpoint_that_never_stands_still_is_not_held_against_the_log(split: Path) -> None:
    one = examined(split, Restless())
    assert places(told(one)) == []
    assert ("changed-while-read", CHECKPOINT, None) in places(told(one), info=True)
    assert one.directory.leader_epochs is None


def test_a_segment_that_is_gone_at_every_look_leaves_a_note_and_no_gap(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/2", tmp_path / "2"))
    names = sorted(path.name for path in (node / FOLDER).glob("*.log"))
    assert len(names) == 3
    for gone in names[:2]:
        one = examined(node, Restless((gone,)))
        assert places(told(one)) == []
        assert ("changed-while-read", gone, None) in places(told(one), info=True)


@settings(max_examples=examples(60))
@given(st.sampled_from(REPLICAS), st.integers(0, 40), st.integers(0, 40))
def test_whenever_the_directory_changes_nothing_is_above_a_note(
    name: str, first: int, second: int
) -> None:
    """From one recorded state to the next behind any two reads."""
    live, *later = (DATA / name.format(state) for state in STATES)
    with tempfile.TemporaryDirectory() as folder:
        node = Path(shutil.copytree(live, Path(folder) / "node"))
        moments = sorted({first, second})
        read = Moving(
            {moment: become(node, state) for moment, state in zip(moments, later, strict=False)}
        )
        one = examined(node, read)
        assert places(told(one)) == []
        assert not one.directory.has_moved
