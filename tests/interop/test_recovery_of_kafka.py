"""What `kraftlake recover --plan` says to do when no majority is left, done to real controllers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
DIRECTORIES = {node_id: f"{'voter' * 4}{node_id}A" for node_id in (1, 2, 3)}


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_two_lost_disks_of_three_are_replaced_by_copies_of_the_third(
    tmp_path: Path, is_static: bool
) -> None:
    class_path_or_skip()
    ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
    nodes = {
        node_id: Controller(tmp_path / str(node_id), node_id, ports, is_static=is_static)
        for node_id in ports
    }
    named = ",".join(
        f"{node_id}@127.0.0.1:{ports[node_id]}:{directory}"
        for node_id, directory in DIRECTORIES.items()
    )
    for node in nodes.values():
        node.format(CLUSTER_ID, *(() if is_static else ("--initial-controllers", named)))
    with ExitStack() as stack:
        for node in nodes.values():
            stack.enter_context(node)
        _wait_for_commits(nodes)
    kept = nodes[1].partition
    before = (kept / "00000000000000000000.log").read_bytes()
    for lost in (2, 3):
        shutil.rmtree(nodes[lost].log_dir)
    steps = _follow_plan(nodes[1].log_dir, {n: nodes[n].log_dir for n in (2, 3)})
    assert steps == {2, 3}
    with ExitStack() as stack:
        for node in nodes.values():
            stack.enter_context(node)
        _wait_for_commits(nodes)
    for node in nodes.values():
        log = (node.partition / "00000000000000000000.log").read_bytes()
        assert log[: len(before)] == before, "they go on where node 1 was"
        assert len(log) > len(before), "with records of a new epoch"


def _follow_plan(winner: Path, lost: dict[int, Path]) -> set[int]:
    """Do what the text says; the nodes that it named."""
    ran = _recover(winner)
    assert ran.returncode == 1
    found = set()
    lines = re.finditer(r"for node (\d): (node\.id=\d)(?: and (directory\.id=\S+))?", ran.stdout)
    for match in lines:
        node_id, target = int(match[1]), lost[int(match[1])]
        shutil.copytree(winner, target, ignore=shutil.ignore_patterns("quorum-state"))
        meta = target / "meta.properties"
        text = re.sub(r"(?m)^node\.id=.*$", match[2], meta.read_text())
        if match[3]:
            text = re.sub(r"(?m)^directory\.id=.*$", match[3], text)
        meta.write_text(text)
        found.add(node_id)
    again = json.loads(_recover(winner, *lost.values(), "--json").stdout.splitlines()[0])
    assert again["has_majority"]
    return found


def _recover(*arguments: object) -> subprocess.CompletedProcess[str]:
    return kraftlake("recover", "--plan", *arguments)


def _wait_for_commits(nodes: dict[int, Controller]) -> None:
    """Until each has read a committed record that its own start has caused."""
    for node in nodes.values():
        node.wait_for("Our registration has been persisted to the metadata log")
