"""`kraftlake recover --plan` in words: who stands, what becomes of a log, and steps to paste."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from jobs.cli.directories.recover_text import ANSWERS
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.format.quorum_state import decode
from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment

SPLIT = "kafka-4.1.1-dynamic/split"
STATIC = "kafka-3.7.2-static/split"
METADATA = "__cluster_metadata-0"
KAFKA_TOOLS = {
    "bin/kafka-server-stop.sh",
    "bin/kafka-server-start.sh",
    "bin/kafka-storage.sh",
    "bin/kafka-metadata-quorum.sh",
    "bin/kafka-topics.sh",
    "bin/kafka-log-dirs.sh",
}
SHELL = {"mkdir", "cp", "rm", "printf", "scp", "grep"}
STEP, COMMAND = re.compile(r"  (\d)\. \S.*[.:]"), re.compile(r"       (\S.*)")


def steps_in(ended: Ended) -> list[tuple[str, list[str]]]:
    """Each step's text and commands; fails where a line of the steps is neither."""
    start = next(i for i, line in enumerate(ended.lines) if line.startswith("Nothing was changed"))
    found: list[tuple[str, list[str]]] = []
    for line in ended.lines[start + 1 :]:
        step, command = STEP.fullmatch(line), COMMAND.fullmatch(line)
        assert step or command, line
        if step:
            assert int(step[1]) == len(found) + 1
            found.append((line.strip(), []))
        elif command:
            found[-1][1].append(command[1])
    return found


def commands_in(ended: Ended) -> list[str]:
    return [command for _, commands in steps_in(ended) for command in commands]


def of_node(ended: Ended, node: int) -> list[str]:
    """What is told of a node's directory, its headline first."""
    told = next(i for i, line in enumerate(ended.lines) if f": node {node} (" in line)
    rest = ended.lines[told + 1 :]
    end = next(i for i, line in enumerate(rest) if not line.startswith("      "))
    return [ended.lines[told], *(line.strip() for line in rest[:end])]


@pytest.mark.usefixtures("recorded")
def test_a_newer_broker_stands_for_no_election_beside_a_stale_voter(kraftlake: Kraftlake) -> None:
    ended = kraftlake("recover", "--plan", f"{SPLIT}/2", f"{SPLIT}/12")
    assert ended.code == 1
    assert "would win the election" not in ended.out
    broker, *worth = of_node(ended, 12)
    assert "no voter" in broker
    assert worth == [
        "is the newest log, but stands for no election: only voters do",
        "offsets 1526 to 2711 (1186 records) are on no voter here",
        "of these 1072 committed, 0 never committed, 114 unknown: voters that are gone may have "
        "committed the unknown ones",
        "step 5 gives its log to those who stand in for lost voters, and so to the quorum",
    ]
    _, *fate = of_node(ended, 2)
    assert fate == [
        "loses offsets 1526 to 1547 (22 records)",
        "of these 0 committed, 22 never committed, 0 unknown",
        "once it follows a leader with the log of node 12, Kafka replaces its log by snapshot "
        "2598-6. No action needed; keep a copy.",
    ]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("scenario", "parted"), [(SPLIT, 1526), (STATIC, 750)])
def test_a_voter_that_loses_records_is_told_what_becomes_of_it(
    kraftlake: Kraftlake, scenario: str, parted: int
) -> None:
    ended = kraftlake("recover", "--plan", scenario)
    assert ended.code == 0
    ranked = [line for line in ended.lines if ", voter, " in line]
    winner = int(ranked[0].split(": node ")[1].split()[0])
    other = {1: 3, 3: 1}[winner]
    assert of_node(ended, winner)[1:] == [f"may win the election, and so may node {other}"]
    assert of_node(ended, 2)[1:3] == [
        f"loses offsets {parted} to {parted + 21} (22 records)",
        "of these 0 committed, 22 never committed, 0 unknown; none of them can have been "
        "committed, so no broker has applied them",
    ]
    assert re.fullmatch(
        f"as it follows node {winner}, Kafka (truncates its log to offset {parted}|replaces its "
        "log by snapshot .*). No action needed; keep a copy.",
        of_node(ended, 2)[3],
    )


def test_an_observer_ahead_of_a_majority_is_told_what_its_log_is_worth(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """Node 11 saw records of a leader that never committed them; 1 and 3 are a majority."""
    for node, capture in (("1", "live"), ("3", "live"), ("11", "split")):
        shutil.copytree(data / "kafka-4.1.1-dynamic" / capture / node, tmp_path / node)
    ended = kraftlake("recover", "--plan", tmp_path)
    assert ended.code == 0, ended.out
    assert re.search("may win the election, and so may node [13]", ended.answer_lines[6])
    _, stands, *fate = of_node(ended, 11)
    assert stands == "is newer, but stands for no election: only voters do"
    assert fate[0].startswith("loses offsets 1524 to 1547 (24 records)")
    assert "none of them can have been committed" in fate[1]
    assert re.match(
        "as it follows node [13], Kafka truncates its log to offset 1524. No action", fate[2]
    )


@pytest.mark.parametrize("node", [1, 11, 12])
def test_nothing_is_said_of_records_that_cannot_be_read(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, node: int
) -> None:
    """A voter, and observers, of which nobody has doubts."""
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", tmp_path / "nodes")
    log = min((tmp_path / f"nodes/{node}" / METADATA).glob("*.log"))
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)
    ended = kraftlake("recover", "--plan", tmp_path / "nodes")
    told = of_node(ended, node)[1]
    assert told.endswith("as far as it can be read: nobody knows what the rest held"), told
    assert "loses nothing" not in told


def test_a_whole_quorum_is_left_running(kraftlake: Kraftlake, data: Path) -> None:
    ended = kraftlake("recover", "--plan", data / "kafka-4.1.1-dynamic/split")
    assert not any("stop" in command for command in commands_in(ended)), "2 follows by itself"
    texts = [text for text, _ in steps_in(ended)]
    assert texts[1].startswith("2. The quorum needs no recovery: every voter is here.")
    answer = next(n for n, line in enumerate(ended.lines) if line.startswith("cluster "))
    assert ended.lines[answer + 1] == "  the quorum needs no recovery: every voter is here"


def test_a_working_majority_is_left_running_and_a_stale_voter_is_kept_from_voting(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("1", "2", "3"):
        capture = "live" if node == "3" else "final"
        shutil.copytree(data / "kafka-4.1.1-dynamic" / capture / node, tmp_path / node)
    ended = kraftlake("recover", "--plan", tmp_path)
    assert ended.code == 0
    assert "the directories of 2 of 3 voters are here, a majority" in ended.out
    assert of_node(ended, 3)[-1].endswith(
        "directory is of epoch 5, and it led or voted in epoch 6: restored from an older "
        "copy, or copied earlier"
    )
    stops = [command for command in commands_in(ended) if "kafka-server-stop.sh" in command]
    assert [shlex.split(command)[1] for command in stops] == ["--node-id=3"]
    (tmp_path / "1" / METADATA / "quorum-state").unlink()
    unproven = kraftlake("recover", "--plan", tmp_path)
    assert unproven.code == 1
    assert "only 1 of 3 voters can be relied on" in unproven.out
    twice = "may vote a second time in an epoch in which it voted already"
    assert f"that formats a new disk: node 3 {twice}." in ended.out
    assert f"it has no quorum-state, so it {twice}" in unproven.out


def test_what_is_refused_is_refused_whatever_ran(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """Two logs with other records of one epoch."""
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    for node in ("1", "3"):
        append(
            segment(tmp_path / node, 2722), metadata("TOPIC_RECORD", name=node, topicId="A" * 22)
        )
    ended = kraftlake("recover", "--plan", tmp_path)
    assert ended.answer_lines[0].endswith(ANSWERS[RecoveryDecision.REFUSED]), ended.out
    assert "needs: " not in ended.out


def test_what_the_best_log_may_lose_is_told(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    append(segment(tmp_path / "3", 2722), *[metadata("NO_OP_RECORD")] * 4)
    ended = kraftlake("recover", "--plan", tmp_path)
    assert ended.code == 0
    assert of_node(ended, 3)[1] == "may win the election, and so may node 2"
    assert re.match(
        r"loses offsets 367\d to 367\d \(\d records\) if a voter without them wins: each that may "
        "win holds all that was committed",
        of_node(ended, 3)[2],
    )
    rehearsed = kraftlake("recover", "--plan", "--rehearse", "--seeds", "0:6", tmp_path)
    assert "may win" in rehearsed.out
    assert "nodes 3 and 2 may win the election, and holds all that was" in rehearsed.out
    assert "otherwise than planned" not in rehearsed.out


def quorum_state_of(node: Path) -> Path:
    return node / METADATA / "quorum-state"


def _shapes(recorded: Path, tmp_path: Path) -> dict[str, list[Path]]:
    """Directories for a plan of each kind, by its answer."""
    wiped = tmp_path / "wiped"
    shutil.copytree(recorded / SPLIT / "3", wiped / "3")
    segment = min(wiped.glob(f"3/{METADATA}/*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    return {
        "safe": [recorded / SPLIT / "2", recorded / SPLIT / "3"],
        "safe static": [recorded / STATIC / "2", recorded / STATIC / "3"],
        "unproven": [recorded / SPLIT / "2", recorded / SPLIT / "12"],
        "unproven static": [recorded / STATIC / "3"],
        "refused": [wiped / "3"],
    }


SHAPES = ("safe", "safe static", "unproven", "unproven static", "refused")


@pytest.mark.parametrize("shape", SHAPES)
def test_each_step_has_a_command_and_each_command_is_one_of_a_tool(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, shape: str
) -> None:
    ended = kraftlake("recover", "--plan", *_shapes(recorded, tmp_path)[shape])
    told = ANSWERS[RecoveryDecision(shape.split()[0])]
    condition = ", if no disk given here was emptied" if shape.startswith("safe") else ""
    assert f": {told}{condition}" in ended.answer_lines[0]
    for text, commands in steps_in(ended):
        assert commands, text
    for command in commands_in(ended):
        parsed = subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False)
        assert parsed.returncode == 0, command
        word, *arguments = shlex.split(command, comments=True)
        assert word in KAFKA_TOOLS | SHELL | {"kraftlake"} or re.match(r"[A-Z_]+=", word), command
        if word == "kraftlake":
            helped = kraftlake(arguments[0], "--help")
            assert helped.code == 0
            options = [a.partition("=")[0] for a in arguments if re.match(r"--?[a-z]", a)]
            assert all(option in helped.out for option in options), command


@pytest.mark.parametrize("shape", SHAPES)
def test_the_commands_of_kraftlake_run_as_they_are_printed(
    kraftlake: Kraftlake,
    recorded: Path,
    tmp_path: Path,
    shape: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shapes = _shapes(recorded, tmp_path)
    ended = kraftlake("recover", "--plan", *shapes[shape])
    monkeypatch.chdir(tmp_path)
    ran = set()
    for command in commands_in(ended):
        words = shlex.split(command, comments=True)
        if words[0] == "kraftlake" and '"$DIRECTORY"' not in command:
            assert kraftlake(*words[1:]).code in (0, 1), command
            ran.add(words[1])
    assert "capture" in ran
    assert len(list(tmp_path.glob("kept-*/capture.json"))) == 1


@pytest.mark.parametrize("shape", ["unproven", "unproven static"])
def test_the_stand_ins_are_made_by_pasting_and_then_the_plan_is_safe(
    kraftlake: Kraftlake,
    recorded: Path,
    tmp_path: Path,
    shape: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = _shapes(recorded, tmp_path)[shape]
    ended = kraftlake("recover", "--plan", *left)
    (commands,) = [found for text, found in steps_in(ended) if "Make directories for nodes" in text]
    monkeypatch.chdir(tmp_path)
    subprocess.run(["sh", "-e", "-u", "-c", "\n".join(commands)], check=True)
    made = sorted(tmp_path.glob("stand-in-*"))
    assert [path.name for path in made] == [
        f"stand-in-{node}" for node in ((1, 3) if shape == "unproven" else (1, 2))
    ]
    states = [decode(path.read_bytes()) for path in tmp_path.glob("stand-in-*/*/quorum-state")]
    epochs = [decode(path.read_bytes()).leader_epoch for path in map(quorum_state_of, left)]
    for state in states:
        assert (state.leader_id, state.voted_id) == (-1, -1), "a vote is nobody else's"
        assert state.leader_epoch == max(epochs) + 1, "nobody has voted in it"
    assert len(states) == 2
    again = kraftlake("recover", "--plan", "--json", *left, *made)
    assert again.code == 0, again.out
    assert {row["answer"] for row in again.answers} == {"safe"}
    assert {row["node_id"] for row in again.answers if row["wins_election"]} <= {1, 2, 3}


@pytest.mark.usefixtures("recorded")
def test_the_controllers_of_a_dynamic_quorum_are_named_by_their_endpoints(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("recover", "--plan", f"{SPLIT}/2", f"{SPLIT}/3")
    (remove,) = [line for line in commands_in(ended) if " remove-controller " in line]
    assert re.search(r"--bootstrap-controller \S+:\d+,\S+:\d+,\S+:\d+ ", remove)
    removed = remove.partition("  # on node ")[0]
    assert removed.endswith("--controller-id 1 --controller-directory-id=w1rJ2UULXXXZu6RS0Vk1kg")


def test_the_controllers_of_a_static_quorum_are_taken_from_their_own_file(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = kraftlake("recover", "--plan", recorded / STATIC / "2", recorded / STATIC / "3")
    (describe,) = [line for line in commands_in(ended) if " describe " in line]
    (tmp_path / "config").mkdir()
    file = tmp_path / "config/controller.properties"
    file.write_text("node.id=1\ncontroller.quorum.voters=1@a:9093,2@b:9094,3@c:9095\n")
    monkeypatch.chdir(tmp_path)
    shown = subprocess.run(
        ["sh", "-c", f"echo {describe.partition(' ')[2]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split()[:2] == ["--bootstrap-controller", "a:9093,b:9094,c:9095"]


def test_a_plan_for_another_topic_names_the_commands_of_kraftlake(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path
) -> None:
    for node in ("2", "3"):
        folder = tmp_path / node
        shutil.copytree(recorded / SPLIT / node, folder)
        partition = (folder / METADATA).rename(folder / "orders-0")
        (partition / "partition.metadata").write_text(
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg"
        )
    ended = kraftlake("recover", "--plan", tmp_path)
    assert ", partition orders-0: no committed record of this log is " in ended.answer_lines[0]
    assert not any(command.startswith("bin/") for command in commands_in_any(ended))
    assert any("describe" in c and "--topic orders" in c for c in commands_in_any(ended))


def commands_in_any(ended: Ended) -> list[str]:
    return [found[1] for line in ended.lines if (found := COMMAND.fullmatch(line))]


def test_paths_with_spaces_are_quoted_and_a_bundle_is_to_be_unpacked_first(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "what is left"
    shutil.copytree(recorded / SPLIT / "3", folder / "3")
    ended = kraftlake("recover", "--plan", folder)
    copies = [line for line in commands_in(ended) if line.startswith("cp -a")]
    assert shlex.split(copies[0])[2] == f"{folder}/3/{METADATA}"
    bundle = shutil.make_archive(str(tmp_path / "left"), "gztar", folder)
    ended = kraftlake("recover", "--plan", bundle)
    first, commands = steps_in(ended)[0]
    assert first == (
        "1. Unpack the bundles, and make the plan again for the folders: its commands name what "
        "they hold."
    )
    assert commands == [
        f"kraftlake capture {bundle} -o unpacked",
        "kraftlake recover --plan unpacked",
    ]
