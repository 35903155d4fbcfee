"""Four controllers, of which one lost its disk and one was killed: the other two elect nobody, but
have all that was committed. Every command names the same first act: start the killed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_recover_words import steps_in
from tests.replica.doctor.verdict.test_without_winner import change_for_20_s, stands_alone

KEPT = "No committed record of the metadata log is lost"
ACT = (
    "tart node 3 or 4 with its own disk, whichever still has it: with nodes 1 and 2 it is a "
    "majority of the 4 voters"
)
COMMANDS = (("check",), ("what-happened",), ("recover", "--plan"), ("plan", "--stop-broker", "5"))


def incident(
    folder: Path, voters: int = 4, *, is_static: bool = True, gave_up: bool = False
) -> Path:
    """The directories of all nodes. The voters of the second half stop one after the other; then
    the others stand for election in vain. gave_up: whether they only know that node 2, which led,
    gave up."""
    layout = Layout(voters=voters, observers=2, is_static=is_static)
    quorum = ScriptedQuorum(f"half of {voters}", layout)
    quorum.begin("orders")
    quorum.resign(1)
    quorum.elect(2)
    change_for_20_s(quorum)
    for node in range(voters, voters // 2, -1):
        quorum.settle()
        quorum.crash(node)
    if gave_up:
        quorum.run_ms(12_000)
        write_capture(quorum.capture(), str(folder))
    else:
        stands_alone(quorum, folder, *range(1, voters // 2 + 1))
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_names_the_same_first_act(
    kraftlake: Kraftlake, tmp_path: Path, command: tuple[str, ...]
) -> None:
    folder = incident(tmp_path / "nodes")
    lines = kraftlake(*command, *(folder / node for node in ("1", "2", "5", "6"))).lines[:10]
    acts = [line for line in lines if line.startswith(("  next", "next", "recover"))]
    assert acts
    assert all(ACT in line for line in acts), acts
    assert any("no disk that was formatted anew" in line for line in acts)
    assert any("Stop no broker before there is a leader." in line for line in acts)


def test_recover_says_that_nothing_committed_is_lost_and_to_format_nothing(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = incident(tmp_path / "nodes")
    ended = kraftlake("recover", "--plan", folder / "1", folder / "2")
    assert ended.code == 0
    assert ended.lines[1].startswith(f"recover     First: s{ACT}. {KEPT}, if no disk given here ")
    assert ended.lines[1].endswith(
        " Nodes 1 and 2 are half of the 4 voters: each majority includes one of them, and nobody "
        "is elected before one more voter runs."
    )
    assert "may be lost" not in ended.out
    (first, started), *_, (made, _), _, _, _ = steps_in(ended)
    assert first.startswith(f"1. S{ACT}. If the quorum has a leader then, leave out all further")
    assert [one.partition("  # ")[2].partition(",")[0] for one in started] == [
        "on node 3",
        "on node 4",
    ]
    assert "No committed record is only on nodes 3 and 4. Make directories" in made
    assert "restart the brokers" not in ended.out, "they applied nothing that is lost"
    assert "needs: no log grew" not in ended.out, "both logs end alike, so none grew meanwhile"
    rows = kraftlake("recover", "--plan", "--json", folder / "1", folder / "2").answers
    assert {(row["answer"], row["has_majority"]) for row in rows} == {("safe", False)}


def test_the_voters_of_a_dynamic_quorum_may_have_changed_since(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = incident(tmp_path / "nodes", is_static=False)
    ended = kraftlake("recover", "--plan", folder / "1", folder / "2")
    assert ended.code == 1
    assert " and no voter was added or removed after offset " in ended.lines[1]
    assert f"{KEPT}, if no disk given here was emptied" in ended.lines[1]
    gave_up = incident(tmp_path / "led", is_static=False, gave_up=True)
    led = kraftlake("recover", "--plan", gave_up / "1", gave_up / "2")
    assert led.code == 0, "node 2 led last, so it would know of each change of the voters"
    assert "was added or removed" not in led.out


def test_a_killed_voter_whose_disk_is_at_hand_starts_first(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = incident(tmp_path / "nodes")
    given = [folder / node for node in ("1", "2", "3")]
    check = kraftlake("check", *given)
    assert check.lines[1].startswith(
        "  next      Start node 3 first: its log holds all that nodes "
    )
    ended = kraftlake("recover", "--plan", *given)
    assert ended.lines[1].startswith(
        f"recover     Start node 3 first: with nodes 1 and 2 it is a majority. {KEPT}"
    )
    starts = next(commands for text, commands in steps_in(ended) if "Start node 3 first" in text)
    assert ["on node 3" in starts[0], "on node 1" in starts[1]] == [True, True]


def test_rehearse_says_what_half_of_the_voters_keeps(kraftlake: Kraftlake, tmp_path: Path) -> None:
    folder = incident(tmp_path / "nodes")
    few = ("--seeds", "0:2", "--failures", "0")
    ended = kraftlake("rehearse", *few, folder / "1", folder / "2")
    assert ended.lines[1] == (
        f"rehearsed   In 2 of 2 runs without voters 3 and 4 nobody leads at the end. {KEPT}: nodes "
        "1 and 2 are half of the 4 voters: each majority includes one of them, and nobody is "
        "elected before one more voter runs. Start node 3 or 4 with its own disk, too."
    )


@pytest.mark.parametrize(
    ("voters", "given", "others", "enough"),
    [
        (4, ("2",), "nodes 1, 3 and 4", "2 of them and node 2 are a majority"),
        (4, ("6",), "nodes 1, 2, 3 and 4", "3 of them are a majority"),
        (5, ("1", "2"), "nodes 3, 4 and 5", "1 of them and nodes 1 and 2 are a majority"),
    ],
)
def test_the_only_files_of_a_leader_who_gave_up_show_it(
    kraftlake: Kraftlake,
    tmp_path: Path,
    voters: int,
    given: tuple[str, ...],
    others: str,
    enough: str,
) -> None:
    """An epoch above the log's, without a leader, is all that its quorum-state says."""
    folder = incident(tmp_path / "nodes", voters, gave_up=True)
    paths = [folder / node for node in given]
    for command in (("check",), ("recover", "--plan")):
        lines = kraftlake(*command, *paths).lines[:6]
        assert lines[0].startswith("ATTENTION   The quorum has perhaps had no leader since 2026-")
        assert "and of no election that was won since" in lines[0]
        acts = [line for line in lines if line.startswith(("  next", "next", "recover"))]
        assert acts
        for line in acts:
            assert f"ind out whether {others} run" in line
            assert f"each with its own disk ({enough})" in line


@pytest.mark.parametrize("given", [("1",), ("1", "2"), ("1", "2", "5")])
def test_without_a_leader_no_line_of_a_plan_makes_anybody_stop_brokers(
    kraftlake: Kraftlake, tmp_path: Path, given: tuple[str, ...]
) -> None:
    folder = incident(tmp_path / "nodes")
    ended = kraftlake("recover", "--plan", *(folder / node for node in given))
    assert "all nodes were stopped" not in ended.out
    stops = [text for text, _ in steps_in(ended) if "stop every controller" in text]
    assert len(stops) == 1
    assert stops[0].endswith("stop every controller. Stop no broker before there is a leader.")
    restarts = [text for text, _ in steps_in(ended) if "estart the brokers" in text]
    assert all("Once the quorum has a leader, restart the brokers" in one for one in restarts)
    assert bool(restarts) == (given == ("1",)), "one voter alone may lack what was committed"
