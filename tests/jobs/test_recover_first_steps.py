"""`kraftlake recover --plan` says nothing of a disk that it was not given, and begins with the step
that destroys nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.restored_disks import restored_quorum
from tests.jobs.test_recover_words import METADATA, of_node, steps_in
from tests.replica.doctor.check.first_start import CLUSTER, start

STATIC, DYNAMIC = "kafka-3.7.2-static/split", "kafka-4.1.1-dynamic/split"


def _left(data: Path, tmp_path: Path, *nodes: str, of: str = DYNAMIC) -> Path:
    for node in nodes:
        shutil.copytree(data / of / node, tmp_path / "left" / node)
    return tmp_path / "left"


def _damage(node: Path) -> None:
    segment = min(node.glob("*/*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)


@pytest.mark.parametrize("of", [STATIC, DYNAMIC])
def test_a_node_whose_directory_was_not_given_is_started_with_its_own_disk_first(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, of: str
) -> None:
    ended = kraftlake("recover", "--plan", _left(data, tmp_path, "2", "3", of=of))
    assert ended.code == 0, ended.out
    steps = steps_in(ended)
    (formats,) = [n for n, (_, told) in enumerate(steps) if any(" format " in c for c in told)]
    text, commands = steps[formats - 1]
    assert "If node 1 still has its own disk, start it with that disk" in text
    assert len(commands) == 1
    assert commands[0].startswith("bin/kafka-server-start.sh")
    assert "on node 1" in commands[0]
    assert "Only if the disk of node 1 is gone: " in steps[formats][0]
    assert "directory missing" not in ended.out
    assert "its directory was not given" in ended.out


@pytest.mark.parametrize("incident", ["restored-voter", "two-quorums"])
def test_an_answer_without_a_voter_s_directory_names_what_it_rests_on(
    kraftlake: Kraftlake, tmp_path: Path, incident: str
) -> None:
    kraftlake("simulate", incident, "-o", tmp_path / "left")
    two = tmp_path / "left/2", tmp_path / "left/3"
    condition = (
        "no disk given here was emptied or restored from an older copy. Only the directory of node "
        "1 could show that, and it was not given"
    )
    ended = kraftlake("recover", "--plan", *two)
    assert ended.answer_lines[0].endswith(
        f" of the metadata log is lost, if {condition.partition('. ')[0]}"
    )
    assert ended.lines[1].endswith(f" of the metadata log is lost, if {condition}.")
    assert ended.lines[1].startswith("recover     Start nodes 2 and 3, unless they run. No commit")
    assert "holds all that was committed" not in ended.out
    rows = kraftlake("recover", "--plan", "--json", *two).answers
    assert [row["needs"][0] for row in rows] == [condition] * 2
    assert kraftlake("recover", "--plan", *two, tmp_path / "left/1").code == 1


@pytest.mark.parametrize("nodes", [("2",), ("2", "12")])
def test_no_controller_is_stopped_before_the_others_directories_are_asked_for(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, nodes: tuple[str, ...]
) -> None:
    ended = kraftlake("recover", "--plan", _left(data, tmp_path, *nodes))
    (start, commands), (text, named), (stop, _), *_ = steps_in(ended)
    assert start.startswith("1. Find out whether nodes 1 and 3 run, and start those that don't, ")
    assert len(commands) == 2
    assert "a backup is not the node's own: leave that node stopped" in start
    assert "If this gives no leader: name the directories of nodes 1 and 3 too" in text
    assert named[-1].startswith("kraftlake recover --plan ")
    assert stop.startswith("3. Only if these disks are gone: stop every controll")


def test_a_log_of_which_a_part_cannot_be_read_is_not_said_to_lose_nothing(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "3")
    _damage(left / "3")
    told = of_node(kraftlake("recover", "--plan", left), 3)
    assert not any("loses nothing" in line for line in told)
    assert told[-1] == "a part of its log can't be read, so nobody knows all that it holds"


def test_a_disk_that_the_plan_empties_is_not_said_to_lose_nothing(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "2", of="kafka-4.1.1-dynamic/final")
    shutil.copytree(data / "kafka-4.1.1-dynamic/live/3", left / "3")
    ended = kraftlake("recover", "--plan", left)
    _, holds, doubt = of_node(ended, 3)
    assert holds == "the same log, but shorter: the first log has all records that it holds now"
    assert doubt.startswith("its directory is of epoch 5, and it led or voted in epoch 6")
    assert not any(line.startswith("   -  node 3 ") for line in ended.lines), "once is enough"


def test_what_may_run_is_started_only_if_it_does_not(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "2", of="kafka-4.1.1-dynamic/final")
    steps = steps_in(kraftlake("recover", "--plan", left))
    ((text, commands),) = [one for one in steps if "Start nodes 1 and 2, each with" in one[0]]
    assert text.endswith("Leave those that run as they are.")
    assert all(one.endswith(", only if it does not run") for one in commands), commands


def test_an_emptied_disk_is_said_to_hold_no_records(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "2", "3", of="kafka-4.1.1-dynamic/final")
    shutil.rmtree(left / "3" / METADATA)
    (left / "3" / METADATA).mkdir()
    ranked, holds, _ = of_node(kraftlake("recover", "--plan", left), 3)
    assert ranked.endswith(", voter, no records")
    assert holds == "holds no records"


def test_an_empty_quorum_state_is_not_called_missing(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "2", "3", of="kafka-4.1.1-dynamic/final")
    (left / "2" / METADATA / "quorum-state").write_bytes(b"")
    told = of_node(kraftlake("recover", "--plan", left), 2)
    assert "its quorum-state can't be read, so nobody knows in which epochs it voted" in told
    rehearsed = kraftlake("rehearse", "--seeds", "0:1", "--failures", 0, left)
    assert "quorum-state is missing" not in rehearsed.out


def test_a_quorum_that_never_had_a_leader_is_not_said_to_lose_committed_records(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    start(tmp_path / "left/1", 1)
    ended = kraftlake("recover", "--plan", tmp_path / "left")
    assert ended.code == 1
    assert ended.answer_lines[0] == f"cluster {CLUSTER}: no log given here holds a record"
    assert "may have held committed" not in ended.out
    assert "committed records may be lost" not in ended.out
    texts = [text for text, _ in steps_in(ended)]
    assert "Name the directories of nodes 2 and 3 too" in texts[0]
    assert not any("stand-in" in line for line in ended.lines), "nothing to make them from"
    assert "controllers' logs" in texts[-1]


@pytest.mark.parametrize(
    ("voters", "first", "why"),
    [
        (
            1,
            "Leave node 1 stopped, look for the disk on which it ran, or a newer copy of it, name "
            "that in its place, and make the plan again: ",
            "the only voter can't be relied on: it may have held committed records that nobody "
            "here knows of",
        ),
        (
            2,
            "Leave nodes 1 and 2 stopped, look for the disks on which they ran, or newer copies of "
            "them, name those in their places, and make the plan again: ",
            "none of 2 voters can be relied on: they may have held committed records that nobody "
            "here knows of",
        ),
    ],
)
def test_the_second_line_begins_with_the_first_step(
    kraftlake: Kraftlake, tmp_path: Path, voters: int, first: str, why: str
) -> None:
    """Where no majority is left, too. The step's command leaves the disks in doubt out, because a
    node is named once."""
    folder = restored_quorum(tmp_path / "left", voters, range(1, voters + 1))
    ended = kraftlake("recover", "--plan", folder)
    text, commands = steps_in(ended)[0]
    assert text.startswith(f"1. {first}")
    assert ended.lines[1].startswith(f"recover     First: {first[0].lower()}{first[1:]}")
    assert f"Committed records may be lost: {why}. The steps below go on" in ended.lines[1]
    assert not any(f"left/{node}/" in commands[-1] for node in range(1, voters + 1))
    assert f"left/{voters + 1}/" in commands[-1]
