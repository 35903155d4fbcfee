"""What `kraftlake recover --plan` says to do, done to real controllers: its commands are run as
they are printed, each in the folder of the node that it names."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, tool_command
from tests.interop.result_page import REHEARSALS, hold
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
VOTERS, OBSERVER = (1, 2, 3), 4
DIRECTORIES = {node_id: f"{'voter' * 4}{node_id}A" for node_id in VOTERS}
WITHIN_S = 120.0
_LOG = "00000000000000000000.log"
_CLASSES = {
    "bin/kafka-storage.sh": "kafka.tools.StorageTool",
    "bin/kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
}


@dataclass(frozen=True)
class Quorum:
    """Three voters, and a controller without a vote."""

    folder: Path
    nodes: dict[int, Controller]

    def run(self, commands: list[str], stack: ExitStack) -> None:
        """A step's commands, as whoever reads the plan would; what is started ends with `stack`."""
        for command in commands:
            place = re.search(r"# on node (\d+)", command)
            words = shlex.split(command, comments=True)
            if words[0] in ("mkdir", "cp", "rm", "printf"):
                subprocess.run(["sh", "-e", "-c", command], cwd=self.folder, check=True)
            elif words[0] == "scp":
                target = self.nodes[int(words[2].split("-")[2].split("/")[0])].log_dir
                shutil.copytree(self.folder / words[2], target)
            elif words[0] == "bin/kafka-server-start.sh":
                assert place is not None, command
                stack.enter_context(self.nodes[int(place[1])])
            else:
                self._tool(command, int(place[1]) if place else 1)

    def _tool(self, command: str, node_id: int) -> None:
        """One of Kafka's tools, until it is content: a node has to catch up first."""
        place = self.nodes[node_id].properties.parent
        deadline = time.monotonic() + WITHIN_S
        while True:
            ran = subprocess.run(
                ["sh", "-e", "-c", command], cwd=place, capture_output=True, text=True, check=False
            )
            if ran.returncode == 0:
                return
            assert time.monotonic() < deadline, ran.stdout + ran.stderr
            time.sleep(1)

    def wait_for_commits(self, *node_ids: int) -> None:
        """Until each has read a committed record that its own start has caused."""
        for node_id in node_ids:
            self.nodes[node_id].wait_for("Our registration has been persisted to the metadata log")

    def leader(self) -> int:
        """Whom all voters follow."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            states = [self.nodes[node_id].partition / "quorum-state" for node_id in VOTERS]
            found = {json.loads(state.read_text())["leaderId"] for state in states}
            if len(found) == 1 and found <= set(VOTERS):
                return int(found.pop())
            assert time.monotonic() < deadline, f"they follow {found}"
            time.sleep(0.2)

    def content(self, node_id: int) -> bytes:
        return (self.nodes[node_id].partition / _LOG).read_bytes()


def _install(node: Controller) -> None:
    """The folder of a node's Kafka, as far as plans name what is in it."""
    place = node.properties.parent
    (place / "bin").mkdir()
    for script, main_class in _CLASSES.items():
        words = tool_command("warn", main_class, [])
        (place / script).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (place / script).chmod(0o755)
    (place / "config").mkdir()
    (place / "config/controller.properties").symlink_to(node.properties)


@pytest.fixture
def quorum(tmp_path: Path, is_static: bool) -> Quorum:
    class_path_or_skip()
    own, *others = free_ports(4)
    ports = dict(zip(VOTERS, others, strict=True))
    nodes = {
        node_id: Controller(tmp_path / f"node-{node_id}", node_id, ports, is_static=is_static)
        for node_id in VOTERS
    }
    if not is_static:
        folder = tmp_path / f"node-{OBSERVER}"
        nodes[OBSERVER] = Controller(folder, OBSERVER, ports | {OBSERVER: own}, is_static=False)
    named = ",".join(
        f"{node_id}@127.0.0.1:{ports[node_id]}:{directory}"
        for node_id, directory in DIRECTORIES.items()
    )
    for node_id, node in nodes.items():
        first = ("--initial-controllers", named) if node_id in VOTERS else ("-N",)
        node.format(CLUSTER_ID, *(() if is_static else first))
        _install(node)
    return Quorum(tmp_path, nodes)


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_two_lost_disks_of_three_are_replaced_by_copies_of_the_third(quorum: Quorum) -> None:
    with ExitStack() as stack:
        for node_id in VOTERS:
            stack.enter_context(quorum.nodes[node_id])
        quorum.wait_for_commits(*VOTERS)
    before = quorum.content(1)
    for lost in (2, 3):
        shutil.rmtree(quorum.nodes[lost].log_dir)
    _follow_plan(quorum, [quorum.nodes[1].log_dir], before)


@pytest.mark.parametrize("is_static", [False], ids=["dynamic"])
def test_the_newer_log_of_an_observer_comes_back_through_stand_ins(quorum: Quorum) -> None:
    """Voter 1 is stale: all that came after its end is on the observer alone."""
    with ExitStack() as stack:
        for node_id in VOTERS:
            stack.enter_context(quorum.nodes[node_id])
        quorum.wait_for_commits(*VOTERS)
        quorum.nodes[1].stop()
        stale = quorum.content(1)
        stack.enter_context(quorum.nodes[OBSERVER])
        quorum.wait_for_commits(OBSERVER)
    before = quorum.content(OBSERVER)
    assert len(before) > len(stale)
    for lost in (2, 3):
        shutil.rmtree(quorum.nodes[lost].log_dir)
    _follow_plan(quorum, [quorum.nodes[n].log_dir for n in (1, OBSERVER)], before)


def _follow_plan(quorum: Quorum, left: list[Path], before: bytes) -> None:
    """Do what the text says; then all voters go on where the log `before` ended."""
    ran = _recover(*left)
    assert ran.returncode == 1, ran.stdout
    steps = _steps(ran.stdout)
    with ExitStack() as stack:
        for text, commands in steps:
            if not re.search(r"\d\. (Stop|Keep|Try|Restart)", text):
                quorum.run(commands, stack)
            if "Copy each of them" in text:
                stand_ins = [quorum.nodes[node_id].log_dir for node_id in (2, 3)]
                again = _replicas(_recover(*left, *stand_ins, "--json"))
                assert again[0]["answer"] == "safe"
        quorum.wait_for_commits(*VOTERS)
    for node_id in VOTERS:
        log = quorum.content(node_id)
        assert log[: len(before)] == before, f"node {node_id} goes on there"
        assert len(log) > len(before), "with records of a new epoch"


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_a_lost_voter_is_replaced_while_the_majority_goes_on_as_rehearsed(
    quorum: Quorum, is_static: bool
) -> None:
    with ExitStack() as stack:
        for node_id in VOTERS:
            stack.enter_context(quorum.nodes[node_id])
        quorum.wait_for_commits(*VOTERS)
    before = {node_id: quorum.content(node_id) for node_id in (1, 2)}
    shutil.rmtree(quorum.nodes[3].log_dir)
    left = [quorum.nodes[node_id].log_dir for node_id in before]
    ran = _recover(*left)
    assert ran.returncode == 0, ran.stdout
    rehearsed = _replicas(_recover(*left, "--rehearse", "--json"))
    with ExitStack() as stack:
        for text, commands in _steps(ran.stdout):
            if not re.search(r"\d\. (Stop|Keep)", text):
                quorum.run(commands, stack)
        quorum.wait_for_commits(*VOTERS)
        leader = quorum.leader()
    leads = {row["node_id"]: row["rehearsed"]["leads"] for row in rehearsed}
    assert leads[leader], f"node {leader} leads, the rehearsal said {leads}"
    assert {row["rehearsed"]["answer"] for row in rehearsed} == {"safe"}
    assert [row["at_risk"] for row in rehearsed] == [[], []]
    assert all(quorum.content(n)[: len(log)] == log for n, log in before.items())
    kind = "static" if is_static else "dynamic"
    case = f"{kind} voters: `recover --plan --rehearse` after a lost disk, and the plan's commands"
    said = "a voter that is left leads, no record is lost"
    hold(REHEARSALS, (case, NEWEST), (said, f"{said}, with such a leader"))
    checked = kraftlake("check", "--json", *(quorum.nodes[n].log_dir for n in VOTERS))
    assert checked.returncode == 0, checked.stdout
    told = json.loads(checked.stdout.splitlines()[-1])["summary"]["directories"]
    assert [one["role"] for one in told] == ["voter"] * 3
    assert quorum.content(3)[: len(before[1])] == before[1]


def _steps(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in text.partition("Nothing was changed.")[2].splitlines()[1:]:
        if line.startswith("       "):
            found[-1][1].append(line.strip())
        else:
            found.append((line.strip(), []))
    return found


def _replicas(ran: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The rows about directories, the best first."""
    rows = map(json.loads, ran.stdout.splitlines())
    return [row for row in rows if row["kind"] == "replica"]


def _recover(*arguments: object) -> subprocess.CompletedProcess[str]:
    return kraftlake("recover", "--plan", *arguments)
