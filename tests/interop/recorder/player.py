"""Runs a script on a real cluster, and records its story."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random

from replica.format.meta_properties import decode
from tests.interop.recorder.cluster import STARTED, RecordedCluster, wait_until
from tests.interop.recorder.operations import Operations
from tests.interop.recorder.script import (
    AddVoter,
    Backup,
    End,
    Fault,
    Heal,
    How,
    RemoveVoter,
    Restore,
    Round,
    Script,
    Shown,
    Step,
    Wait,
    Who,
    Wipe,
)
from tests.interop.recorder.story import DONE, Deed, Down, Sight, Story

_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
_LOOKS_S = 0.2
_STOPS_S = 12.0
FOREIGN = Path(__file__).parents[2] / "data" / "kafka-4.4.0-dynamic" / "final"


def now() -> int:
    return int(time.time() * 1000)


class Player:
    """Runs one script on a started cluster."""

    def __init__(self, script: Script, cluster: RecordedCluster) -> None:
        self.script, self.cluster = script, cluster
        shape = script.shape
        self.story = Story(
            script.seed,
            shape.kind.value,
            shape.version,
            shape.is_static,
            list(cluster.voters),
            list(cluster.brokers),
            cluster.cluster_id,
        )
        if cluster.migrated is not None:
            self.story.acknowledged.topics.update(cluster.migrated.topics)
        self.operations = Operations(cluster, self.story)
        self.draws = Random(f"player {script.seed}")
        self._down: dict[int, Down] = {}
        self._backup: tuple[int, Path] | None = None
        self._backups = 0
        self._lost: str | None = None
        self._removed: int | None = None
        self._ends = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def play(self, one: Round) -> None:
        """Runs all steps. The cluster is then as the round leaves it."""
        story = self.story
        story.left, story.shown = [repr(step) for step in one.left], one.shown.value
        story.changed, story.shown_node, story.quiet, story.done, story.dumps = {}, -1, "", [], {}
        for step in one.steps:
            self.step(step)
        self.settle()
        story.described = self.operations.described()
        for step in one.left:
            self.step(step)
        if not self._down and not story.changed:
            story.quiet = self.operations.described()
        story.down = sorted(self._down.values(), key=lambda one: one.node)

    def close(self) -> None:
        self._ends.set()
        self._watch.join()

    def copies(self, to: Path, shown: Shown) -> list[Path]:
        """The directories that kraftlake gets: one folder for each node."""
        self.story.copied = now()
        voters = list(self.cluster.voters)
        node = self._backup[0] if self._backup else voters[-1]
        if shown is not Shown.ALL:
            self.story.shown_node = node
        found = []
        for node_id in self.cluster.nodes:
            if node_id == self.story.shown_node and shown is Shown.LEFT_OUT:
                continue
            place = to / str(node_id)
            if node_id == self.story.shown_node and shown is Shown.FOREIGN:
                shutil.copytree(FOREIGN / str(node_id), place)
            elif node_id == self.story.shown_node and shown is Shown.OLDER and self._backup:
                shutil.copytree(self._backup[1], place)
            else:
                self.cluster.copy(node_id, place)
            found.append(place)
        return found

    def step(self, step: Step) -> None:
        began, nodes = now(), []
        if isinstance(step, Fault):
            nodes = self._fault(step)
            outcome, text, name = DONE, "", ""
        else:
            outcome, text, name = self.operations.do(step)
        self.story.deeds.append(
            Deed(began, now(), type(step).__name__, name, nodes, outcome, text[:600])
        )

    def settle(self) -> None:
        """Waits until all running nodes follow one leader, and Kafka answers."""

        def agree() -> bool:
            known = {self._state(node) for node in self.cluster.voters
                     if self.cluster.is_awake(node)}  # fmt: skip
            return len(known) == 1 and None not in known

        wait_until(agree, f"no leader: {self.cluster.folder}")
        wait_until(lambda: self.operations.listed() is not None, "Kafka doesn't answer", 90)
        time.sleep(1.5)

    def _fault(self, fault: Fault) -> list[int]:
        match fault:
            case Wait(seconds):
                time.sleep(seconds)
                return []
            case End(who, how):
                return self._end(who, how)
            case Heal():
                return self.heal()
            case Backup():
                return self._back_up()
            case Wipe(starts):
                return self._wipe(starts)
            case Restore(starts):
                return self._restore(starts)
            case RemoveVoter(who):
                (node,) = self._nodes(who)
                self._remove(node)
                self._removed = node
                return [node]
            case AddVoter():
                assert self._removed is not None
                self._add(self._removed)
                return [self._removed]

    def _end(self, who: Who, how: How) -> list[int]:
        nodes = [node for node in self._nodes(who) if node not in self._down]
        for node in nodes:
            process = self.cluster.nodes[node]
            self._down[node] = Down(node, now(), how.value)
            match how:
                case How.PAUSE:
                    process.freeze()
                case How.KILL:
                    process.kill()
        if how is How.STOP:
            with ThreadPoolExecutor() as pool:
                list(pool.map(self._stop, nodes))
        return nodes

    def ends(self, node: int) -> None:
        """Ends a node in order, as for maintenance, and notes this in the story."""
        began = now()
        self._stop(node)
        self.story.deeds.append(Deed(began, now(), "End", How.STOP.value, [node], DONE))

    def _stop(self, node: int) -> None:
        """Stops a node. A broker that finds no controller waits for minutes before it ends."""
        with suppress(subprocess.TimeoutExpired):
            self.cluster.nodes[node].stop(_STOPS_S)

    def heal(self) -> list[int]:
        """Starts all ended nodes. A voter that lost its disk becomes a voter again."""
        nodes = sorted(self._down)
        wiped = [int(node) for node, what in self.story.changed.items() if what == "wiped"]
        started = []
        for node in nodes:
            if self.cluster.nodes[node].is_stopped:
                self.cluster.nodes[node].thaw()
            else:
                started.append(node)
        self.cluster.start(started, waits=False)
        self._down.clear()
        for node in started:
            self.cluster.nodes[node].wait_for(STARTED)
        for node in wiped if not self.script.shape.is_static else ():
            self._remove(node, self._lost)
            self._add(node)
        self.settle()
        return nodes

    def _back_up(self) -> list[int]:
        node = self._nodes(Who.FOLLOWER)[0]
        self._backups += 1
        place = self.cluster.folder / f"backup-{self._backups}"
        self.story.backup = now()
        self._backup = (node, self.cluster.copy(node, place))
        return [node]

    def _wipe(self, starts: bool) -> list[int]:
        (node,) = self._nodes(Who.FOLLOWER)
        self._end_one(node)
        old = self._lost = self._directory(node)
        self.cluster.wipe(node)
        self.cluster.format(node, is_again=True)
        if not starts:
            self._down[node] = Down(node, now(), How.KILL.value)
            self.story.changed[str(node)] = "wiped"
            return [node]
        if not self.script.shape.is_static:
            self._remove(node, old)
        self.cluster.start([node])
        if not self.script.shape.is_static:
            self._add(node)
        self._back_up()
        return [node]

    def _restore(self, starts: bool) -> list[int]:
        assert self._backup is not None
        node, backup = self._backup
        place = self.cluster.nodes[node].log_dir / "__cluster_metadata-0"
        self._end_one(node)
        shutil.rmtree(place)
        shutil.copytree(backup / place.name, place)
        if not starts:
            self._down[node] = Down(node, now(), How.KILL.value)
            self.story.changed[str(node)] = "restored"
            return [node]
        self.cluster.start([node])
        return [node]

    def _end_one(self, node: int) -> None:
        self.cluster.nodes[node].kill()
        self._down.pop(node, None)
        # the epoch's leader notices it, and the other nodes elect if the ended node led
        time.sleep(0.5)

    def _remove(self, node: int, directory: str | None = None) -> None:
        self._quorum("remove-controller", "--controller-id", node,
                     f"--controller-directory-id={directory or self._directory(node)}")  # fmt: skip

    def _add(self, node: int) -> None:
        self._quorum("add-controller", config=self.cluster.nodes[node].properties)

    def _quorum(self, *arguments: object, config: Path | None = None) -> None:
        config = config or self.cluster.tools.client
        said = ""

        def is_done() -> bool:
            nonlocal said
            ran = self.cluster.tools.run(
                _QUORUM, "--bootstrap-server", self.cluster.bootstrap,
                "--command-config", config, *arguments, within_s=30,
            )  # fmt: skip
            said = ran.text
            return ran.is_done

        wait_until(is_done, f"{arguments}: {said}", 90)

    def _directory(self, node: int) -> str:
        meta = (self.cluster.nodes[node].log_dir / "meta.properties").read_bytes()
        return str(decode(meta).directory_id)

    def _nodes(self, who: Who) -> list[int]:
        leader = self.leader()
        voters = list(self.cluster.voters)
        followers = [node for node in voters if node != leader and self.cluster.is_awake(node)]
        match who:
            case Who.LEADER:
                return [leader]
            case Who.FOLLOWER:
                backup = self._backup[0] if self._backup else None
                return [backup if backup in followers else (followers or voters)[0]]
            case Who.BROKER:
                return [self.draws.choice(self.cluster.brokers)]
            case Who.MAJORITY:
                return [leader, *followers][: len(voters) // 2 + 1]
            case Who.ALL:
                return sorted(self.cluster.nodes)

    def leader(self) -> int:
        """The leader that a running node knows in the newest epoch."""
        found: tuple[int, int] | None = None

        def is_known() -> bool:
            nonlocal found
            states = (self._state(one) for one in self.cluster.voters if self.cluster.is_awake(one))
            found = max((one for one in states if one is not None), default=None)
            return found is not None

        wait_until(is_known, "nobody leads")
        assert found is not None
        return found[1]

    def _state(self, node: int) -> tuple[int, int] | None:
        """(epoch, leader) in a voter's quorum-state, which Kafka replaces as a whole."""
        with suppress(OSError, ValueError, KeyError):
            told = json.loads((self.cluster.nodes[node].partition / "quorum-state").read_text())
            if told["leaderId"] >= 0:
                return told["leaderEpoch"], told["leaderId"]
        return None

    def _look(self) -> None:
        known: set[tuple[int, int]] = set()
        while not self._ends.wait(_LOOKS_S):
            for node in self.cluster.voters:
                state = self._state(node) if self.cluster.is_awake(node) else None
                if state is not None and state not in known:
                    known.add(state)
                    self.story.sights.append(Sight(now(), *state))
