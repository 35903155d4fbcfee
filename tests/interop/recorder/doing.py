"""Actions on the real cluster that kraftlake calls safe, and Kafka's own dump of the copies."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

from tests.interop.kafka_dump import dumped
from tests.interop.kafka_jars import dump_tool
from tests.interop.recorder.cluster import STARTED
from tests.interop.recorder.player import Player
from tests.interop.recorder.script import CreateTopic
from tests.interop.recorder.story import DONE, STOP
from tests.kraftlake_process import kraftlake

_CATCHES_UP_S = 45.0


def compare_dumps(player: Player, copies: list[Path]) -> None:
    """Compares each copy's records by Kafka's tool with kraftlake's. Notes the differences in the
    story."""
    for place in copies:
        if place.name == str(player.story.shown_node) and "another" in player.story.shown:
            continue
        logs = sorted((place / "__cluster_metadata-0").glob("*.log"))
        for log in logs:
            said = player.cluster.tools.run(
                dump_tool(player.cluster.tools.version), "--cluster-metadata-decoder",
                "--print-data-log", "--files", log, within_s=60,
            )  # fmt: skip
            theirs = [(offset, time, data) for offset, time, data in dumped(said.text)
                      if data is not None]  # fmt: skip
            ran = kraftlake("dump", "--json", "--keep-secrets", log)
            rows = [json.loads(line) for line in ran.stdout.splitlines()]
            ours = {(row["offset"], row["timestamp"]): row["data"] for row in rows}
            unlike = [one for one in theirs if not _same(ours.get(one[:2]), one[2])]
            where = f"{log.name}: {len(theirs)} by Kafka, {len(ours)} by kraftlake"
            enough = 0 < len(theirs) <= len(ours)
            player.story.dumps[f"{place.name} {log.name}"] = (
                "" if enough and not unlike else f"{where}; {unlike[:2]}"
            )


def _same(ours: Any, theirs: Any) -> bool:
    """Whether both are equal. Kafka's dump of control records lacks fields that kraftlake shows."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return bool(ours == theirs)
    return all(ours.get(name) == value for name, value in theirs.items())


def do_what_is_safe(player: Player, copies: list[Path], draws: Random) -> None:
    """Stops one broker. Then starts all nodes as the answer of recover says."""
    awake = [node for node in player.cluster.brokers if player.cluster.is_awake(node)]
    if player.story.has_majority and awake:
        _stop(player, copies, draws.choice(awake))
    ran = kraftlake("recover", "--plan", "--json", *copies)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    ours = [row for row in rows if row.get("cluster_id") == player.story.cluster_id]
    answers = {row["answer"] for row in ours if row["kind"] == "replica"}
    answer = answers.pop() if len(answers) == 1 else "refused"
    acknowledged = player.story.acknowledged
    there = set(acknowledged.topics) - set(acknowledged.doubtful)
    player.heal()
    deadline = time.monotonic() + _CATCHES_UP_S
    while lost := there - set(player.operations.listed() or ()):
        if time.monotonic() > deadline:
            break  # a broker that was suspended answers by its old state at first
        time.sleep(1)
    outcome = DONE if not lost and _works(player) else f"lost {sorted(lost)}"
    player.story.done.append(["start of all", answer, outcome, ""])


def _stop(player: Player, copies: list[Path], node: int) -> None:
    ran = kraftlake("plan", "--json", "--stop-broker", node, *copies)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    plan = next((row for row in rows if row["kind"] == "plan"), None)
    answer = "refused" if plan is None else str(plan["answer"])
    told = json.dumps(plan)[:1500]
    outcome = "not tried"
    if answer == "safe":
        process = player.cluster.nodes[node]
        before = player.operations.described().count("Leader: none")
        player.ends(node)
        works = _works(player)
        after = player.operations.described()
        harmed = after.count("Leader: none") - before
        outcome = DONE if works and harmed <= 0 else f"works: {works}, {harmed} lost their leader"
        process.start()
        process.wait_for(STARTED)
    player.story.done.append([f"{STOP} {node}", answer, outcome, told])


def _works(player: Player) -> bool:
    """Whether a topic can be created. It is tried a few times, because an election
    takes seconds."""
    for _ in range(4):
        name = f"works-{len(player.story.deeds)}"
        player.step(CreateTopic(name, 1, 1, ()))
        if player.story.deeds[-1].outcome == DONE:
            return True
    return False
