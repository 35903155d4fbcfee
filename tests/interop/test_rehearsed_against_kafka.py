"""`kraftlake rehearse` of the directories of real controllers, and real ones that do its steps."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.directories.diff import examine_one
from replica.doctor.check.history_log import replica_log
from replica.history.divergence import compare
from replica.history.log import ReplicaLog
from tests.interop.controllers import Quorum, made, started
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.interop.result_page import REHEARSALS, hold
from tests.kraftlake_process import kraftlake
from tests.waiting import until

pytestmark = pytest.mark.slow

NO_DIRECTORY = "A" * 22
ENDS = "Kafka ends its process"
Range = list[int]
"""Offsets [first, end)."""


@dataclass(frozen=True)
class Ended:
    """leader: node id, None where nobody leads. truncated: by node, what of its old log it has
    lost. lost: of the records that were proven committed, the ranges that the leader doesn't have.
    ended: the nodes whose process has ended by itself."""

    leader: int | None
    truncated: dict[int, Range]
    lost: list[Range]
    ended: tuple[int, ...] = ()

    def said(self) -> str:
        if self.leader is None:
            return f"the process of node {', '.join(map(str, self.ended))} ends, nobody leads"
        lost = "committed records are lost" if self.lost else "no committed record is lost"
        nodes = ", ".join(map(str, sorted(self.truncated)))
        cut = f"node {nodes} truncates" if nodes else "nothing is truncated"
        return f"{cut}, {lost}"


def log_of(directory: Path) -> ReplicaLog:
    return replica_log(examine_one(str(directory)), "")


def quorum_state(quorum: Quorum, node_id: int) -> dict[str, Any]:
    return _state_in(quorum.nodes[node_id].log_dir)


def end_of(quorum: Quorum, node_id: int) -> int:
    return log_of(quorum.nodes[node_id].log_dir).end_offset


@pytest.fixture
def quorum(tmp_path: Path, is_static: bool) -> Iterator[Quorum]:
    """Three voters of the newest release that have run together; none runs now, all hold equal
    logs."""
    quorum = made(tmp_path / "kafka", is_static=is_static)
    try:
        started(quorum, 1, 2, 3)
        yield quorum
    finally:
        quorum.kill()


def kill(quorum: Quorum, *node_ids: int) -> None:
    for node_id in node_ids:
        quorum.nodes[node_id].kill()


def grown(quorum: Quorum, node_id: int, by: int) -> None:
    """Until the node's log has `by` records more: a leader appends a NoOpRecord each 0.5 s."""
    wanted = end_of(quorum, node_id) + by
    until(lambda: end_of(quorum, node_id) >= wanted, f"the log of node {node_id} does not grow")


def leader_of(quorum: Quorum, *among: int) -> int:
    """Whom all of these follow; one of them, for what they wrote before they ended names others."""
    found: set[int] = set()

    def is_one() -> bool:
        found.clear()
        found.update(quorum_state(quorum, node_id)["leaderId"] for node_id in among)
        return len(found) == 1 and found <= set(among)

    until(is_one, f"no leader: {found}")
    return found.pop()


def kept(quorum: Quorum, folder: Path) -> dict[int, Path]:
    """A copy of each voter's directory as it is now."""
    return {
        node_id: Path(shutil.copytree(quorum.nodes[node_id].log_dir, folder / str(node_id)))
        for node_id in quorum.ports
    }


def rehearsed(folder: Path, *steps: str, seeds: str = "0:8") -> list[Ended]:
    """The outcomes, each of which some of the runs had."""
    script = folder.parent / "scenario.toml"
    script.write_text("".join(f"[[step]]\n{step}\n" for step in steps))
    scenario = ("--scenario", str(script)) if steps else ()
    ran = kraftlake(
        "rehearse", "--json", "--seeds", seeds, "--failures", "0", *scenario, str(folder)
    )
    assert ran.returncode in (1, 3, 4), ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return [
        Ended(
            row["leader"],
            {
                node["node_id"]: node["lost"][0]
                for node in row["nodes"]
                if node["lost"] and not node["has_new_disk"]
            },
            row["committed_lost"],
            tuple(one["node_id"] for one in row["failed"] if ENDS in one["reason"]),
        )
        for row in rows
        if row["kind"] == "outcome"
    ]


def happened(
    quorum: Quorum, before: dict[int, Path], leader: int, committed_end: int, wiped: int = -1
) -> Ended:
    """What became of the logs. committed_end: where the records end that were proven committed."""
    logs = {node_id: log_of(path) for node_id, path in before.items()}
    now = {node_id: log_of(quorum.nodes[node_id].log_dir) for node_id in before}
    truncated = {}
    for node_id, log in logs.items():
        parted = compare(log, now[node_id]).divergence_offset
        if parted is not None and node_id != wiped:
            truncated[node_id] = [parted, log.end_offset]
    longest = max(logs.values(), key=lambda log: log.end_offset)
    parted = compare(longest, now[leader]).divergence_offset
    is_lost = parted is not None and parted < committed_end
    return Ended(leader, truncated, [[parted, committed_end]] if is_lost else [])


def held(case: str, quorum: Quorum, outcomes: list[Ended], did: Ended) -> None:
    """What happened is one of the outcomes, and the table has it."""
    assert did in outcomes, (did, outcomes)
    said = " or ".join(sorted({one.said() for one in outcomes}))
    seen = did.said() if did.leader is None else f"{did.said()}, with such a leader"
    hold(REHEARSALS, (case, quorum.nodes[1].version), (said, seen))


@pytest.mark.parametrize("is_static", [False])
def test_a_wiped_disk_of_a_dynamic_voter_loses_nothing_as_rehearsed(
    quorum: Quorum, tmp_path: Path
) -> None:
    leader_of(quorum, 1, 2, 3)
    grown(quorum, 1, 5)
    kill(quorum, 1, 2, 3)
    before = kept(quorum, tmp_path / "kept")
    outcomes = rehearsed(tmp_path / "kept", "empty = [3]")
    shutil.rmtree(quorum.nodes[3].log_dir)
    quorum.nodes[3].format(CLUSTER_ID, "--no-initial-controllers")
    started(quorum, 1, 2, 3)
    leader = leader_of(quorum, 1, 2)
    grown(quorum, leader, 5)
    kill(quorum, 1, 2, 3)
    committed = min(log_of(path).end_offset for path in before.values())
    did = happened(quorum, before, leader, committed, wiped=3)
    held("dynamic voters: all start, one with an empty disk", quorum, outcomes, did)


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_records_of_a_leader_without_a_majority_are_truncated_as_rehearsed(
    quorum: Quorum, tmp_path: Path, is_static: bool
) -> None:
    leader = leader_of(quorum, 1, 2, 3)
    others = sorted({1, 2, 3} - {leader})
    kill(quorum, *others)
    heard = max(end_of(quorum, node_id) for node_id in others)
    until(lambda: end_of(quorum, leader) > heard, f"it wrote nothing behind {heard}")
    kill(quorum, leader)
    before = kept(quorum, tmp_path / "kept")
    outcomes = rehearsed(tmp_path / "kept", f"dead = [{leader}]", f"start = [{leader}]")
    started(quorum, *others)
    next_leader = leader_of(quorum, *others)
    grown(quorum, next_leader, 5)
    quorum.nodes[leader].start()
    until(lambda: leader_of(quorum, 1, 2, 3) == next_leader, "it does not follow")
    grown(quorum, leader, 3)
    kill(quorum, 1, 2, 3)
    ends = sorted(log_of(path).end_offset for path in before.values())
    did = happened(quorum, before, next_leader, ends[-2])
    assert set(did.truncated) == {leader}
    names = {leader: 3, others[0]: 1, others[1]: 2}
    said = [_named(one, names) for one in outcomes]
    case = "voters: the leader wrote alone (here node 3), and starts after the others"
    kind = "static" if is_static else "dynamic"
    held(f"{kind} {case}", quorum, said, _named(did, names))


def _named(ended: Ended, names: dict[int, int]) -> Ended:
    """As if the nodes had had these names: who leads first is another in each run."""
    truncated = {names[node_id]: cut for node_id, cut in ended.truncated.items()}
    leader = None if ended.leader is None else names[ended.leader]
    return Ended(leader, truncated, ended.lost, tuple(names[node_id] for node_id in ended.ended))


def _left_behind(quorum: Quorum, stale: int, *others: int) -> None:
    """A voter ends, the others commit some records more, and end, too."""
    grown(quorum, stale, 5)
    kill(quorum, stale)
    end = end_of(quorum, stale)
    until(lambda: min(end_of(quorum, one) for one in others) >= end + 5, "they commit nothing")
    kill(quorum, *others)


@pytest.mark.parametrize("is_static", [True])
def test_a_stale_static_voter_beside_an_empty_disk_leads_without_committed_records_as_rehearsed(
    quorum: Quorum, tmp_path: Path
) -> None:
    dead = leader_of(quorum, 1, 2, 3)
    stale, wiped = sorted({1, 2, 3} - {dead})
    _left_behind(quorum, stale, wiped, dead)
    before = kept(quorum, tmp_path / "kept")
    outcomes = rehearsed(tmp_path / "kept", f"dead = [{dead}]\nempty = [{wiped}]")
    shutil.rmtree(quorum.nodes[wiped].log_dir)
    quorum.nodes[wiped].format(CLUSTER_ID)
    started(quorum, stale, wiped)
    leader = leader_of(quorum, stale, wiped)
    grown(quorum, wiped, 3)
    kill(quorum, stale, wiped)
    committed = min(log_of(before[node_id]).end_offset for node_id in (wiped, dead))
    did = happened(quorum, before, leader, committed, wiped=wiped)
    assert did.lost
    names = {stale: 1, wiped: 2, dead: 3}
    said = [_named(one, names) for one in outcomes]
    case = "static voters: node 1 is stale, node 2 has an empty disk, node 3, which led, is dead"
    held(case, quorum, said, _named(did, names))


@pytest.mark.parametrize("is_static", [True])
def test_a_stale_static_voter_that_names_an_empty_disk_as_the_leader_ends_it_as_rehearsed(
    quorum: Quorum, tmp_path: Path
) -> None:
    wiped = leader_of(quorum, 1, 2, 3)
    stale, dead = sorted({1, 2, 3} - {wiped})
    _left_behind(quorum, stale, wiped, dead)
    before = kept(quorum, tmp_path / "kept")
    first = f"dead = [{stale}, {dead}]\nempty = [{wiped}]"
    outcomes = rehearsed(tmp_path / "kept", first, f"start = [{stale}]", seeds="0:40")
    shutil.rmtree(quorum.nodes[wiped].log_dir)
    quorum.nodes[wiped].format(CLUSTER_ID)
    quorum.nodes[wiped].start()
    quorum.nodes[wiped].wait_for("Completed transition to Prospective")
    quorum.nodes[stale].start()
    quorum.nodes[wiped].wait_for_end()
    assert f"leader OptionalInt[{wiped}]" in quorum.nodes[wiped].log
    assert "inconsistent with current leader" in quorum.nodes[wiped].log
    time.sleep(10.0)  # some fetch timeouts and pre-votes of the stale voter
    assert quorum_state(quorum, stale) == _state_in(before[stale])
    did = Ended(None, {}, [], (wiped,))
    names = {stale: 1, wiped: 2, dead: 3}
    said = [_named(one, names) for one in outcomes]
    case = "static voters: node 1 is stale and names node 2, whose disk is empty; node 3 is dead"
    held(case, quorum, said, _named(did, names))


def _state_in(log_dir: Path) -> dict[str, Any]:
    found = json.loads((log_dir / "__cluster_metadata-0" / "quorum-state").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_stand_ins_for_a_lost_majority_go_on_from_the_survivor_as_rehearsed(
    quorum: Quorum, tmp_path: Path, is_static: bool
) -> None:
    """The runbook's steps by hand: copies of the log of node 1 under the identity of 2 and 3."""
    leader_of(quorum, 1, 2, 3)
    grown(quorum, 1, 5)
    kill(quorum, 1, 2, 3)
    for lost in (2, 3):
        node = quorum.nodes[lost]
        shutil.rmtree(node.partition)
        shutil.copytree(quorum.nodes[1].partition, node.partition)
    for node in quorum.nodes.values():
        state = json.loads((node.partition / "quorum-state").read_text())
        state |= {"leaderId": -1, "votedId": -1, "leaderEpoch": state["leaderEpoch"] + 1}
        if "votedDirectoryId" in state:
            state["votedDirectoryId"] = NO_DIRECTORY
        (node.partition / "quorum-state").write_text(json.dumps(state))
    before = kept(quorum, tmp_path / "kept")
    outcomes = rehearsed(tmp_path / "kept")
    started(quorum, 1, 2, 3)
    leader = leader_of(quorum, 1, 2, 3)
    for node_id in (1, 2, 3):
        grown(quorum, node_id, 3)
    kill(quorum, 1, 2, 3)
    did = happened(quorum, before, leader, log_of(before[1]).end_offset)
    kind = "static" if is_static else "dynamic"
    held(f"{kind} voters: two stand-ins made of the only log that is left", quorum, outcomes, did)
