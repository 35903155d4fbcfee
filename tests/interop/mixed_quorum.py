"""Quorums of kraftlake voters and kafka.tools.TestRaftServer, all as processes on 127.0.0.1.

Each leader appends a load of its own. What is committed is asked of a kraftlake node, as any
consumer would: the high watermark in the answer to a fetch.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from replica.errors import KraftlakeError
from replica.format.quorum_state import decode
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports, java_command

REPOSITORY = Path(__file__).parents[2]
TOPIC, TOPIC_ID = "__raft_performance_test", "AAAAAAAAAAAAAAAAAAAAAg"
"""Those of TestRaftServer; its cluster id is the zero UUID."""
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
RATE, BYTES = 100, 100
WITHIN_S = 60.0


@dataclass
class Voter:
    """A voter that is or was a process. kind: kraftlake or kafka."""

    node_id: int
    kind: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def partition(self) -> Path:
        return self.folder / "log" / f"{TOPIC}-0"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log(self) -> bytes:
        """All segments, one after the other."""
        return b"".join(path.read_bytes() for path in sorted(self.partition.glob("*.log")))

    @property
    def election(self) -> tuple[int, int]:
        """(epoch, leader id) as on its disk."""
        try:
            state = decode((self.partition / "quorum-state").read_bytes())
        except (OSError, KraftlakeError):
            return (-1, -1)
        return state.leader_epoch, state.leader_id

    def start(self) -> None:
        out = (self.folder / "output.txt").open("ab")
        self.process = subprocess.Popen(
            self._command(), stdout=out, stderr=subprocess.STDOUT, cwd=REPOSITORY
        )
        out.close()

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """In order; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WITHIN_S)
        self.process = None
        return code

    def _command(self) -> list[str]:
        if self.kind == "kraftlake":
            run = ["replica", "run", "-c", str(self.properties), "--workload", f"{RATE},{BYTES}"]
            return [sys.executable, "-m", "jobs.cli", *run]
        directory = f"{'kafka' * 4}{self.node_id}A"
        options = ["--config", self.properties, "--throughput", RATE, "--record-size", BYTES]
        options += ["--replica-directory-id", directory]
        return java_command("warn", "kafka.tools.TestRaftServer", map(str, options))


@dataclass
class MixedQuorum:
    """Voters 1 to 3, the first `kraftlake` of them ours; started on entry, killed on exit."""

    folder: Path
    kraftlake: int
    voters: dict[int, Voter] = field(default_factory=dict)

    def __enter__(self) -> MixedQuorum:
        ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        named = ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in ports.items())
        for node_id, port in ports.items():
            kind = "kraftlake" if node_id <= self.kraftlake else "kafka"
            voter = Voter(node_id, kind, self.folder / str(node_id), port)
            (voter.folder / "log").mkdir(parents=True)
            voter.properties.write_text(
                f"process.roles=controller\nnode.id={node_id}\nlog.dirs={voter.folder}/log\n"
                f"listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n"
                f"controller.quorum.voters={named}\n"
                f"kraftlake.topic.name={TOPIC}\nkraftlake.topic.id={TOPIC_ID}\n"
            )
            if kind == "kraftlake":
                _format(voter)
            self.voters[node_id] = voter
        try:
            for voter in self.voters.values():
                voter.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for voter in self.voters.values():
            voter.kill()

    def leader(self, above_epoch: int = 0) -> Voter:
        """Who leads the newest epoch, by a majority of the disks; waits for one above an epoch."""
        found: list[Voter] = []

        def is_elected() -> bool:
            epoch, leader = max(voter.election for voter in self.voters.values())
            same = [v for v in self.voters.values() if v.election == (epoch, leader)]
            running = [v for v in same if v.process is not None]
            if epoch <= above_epoch or leader < 0 or len(running) < 2:
                return False
            if self.voters[leader].process is None:
                return False
            found[:] = [self.voters[leader]]
            return True

        self.wait_until(is_elected, f"no leader above epoch {above_epoch}")
        return found[0]

    def committed(self) -> int:
        """The newest high watermark (exclusive) that a running kraftlake voter tells."""
        ours = [v for v in self.voters.values() if v.kind == "kraftlake" and v.process]
        return max((asyncio.run(_high_watermark(voter.port)) for voter in ours), default=-1)

    def wait_for_commits(self, above: int) -> int:
        """Until something above an offset is committed; the high watermark then."""
        known: list[int] = []

        def has_moved() -> bool:
            known[:] = [self.committed()]
            return known[0] > above

        self.wait_until(has_moved, f"nothing above {above} is committed")
        return known[0]

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline, f"{otherwise}\n{self.outputs()}"
            time.sleep(0.05)

    def outputs(self) -> str:
        """The end of what each voter has said."""
        texts = []
        for voter in self.voters.values():
            said = (voter.folder / "output.txt").read_text(errors="replace")[-1500:]
            texts.append(f"--- {voter.kind} {voter.node_id}, {voter.election}\n{said}")
        return "\n".join(texts)


def _format(voter: Voter) -> None:
    command = ["replica", "format", "-c", str(voter.properties), "-t", CLUSTER_ID]
    subprocess.run(
        [sys.executable, "-m", "jobs.cli", *command],
        check=True,
        capture_output=True,
        cwd=REPOSITORY,
    )


async def _high_watermark(port: int) -> int:
    """As a consumer learns it; -1 where the node doesn't answer."""
    asked = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1}
    request = {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1,
        "topics": [{"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [asked]}],
    }
    try:
        connection = await Connection.connect("127.0.0.1", port, ClientConfig(timeout_s=2.0))
        try:
            answer = await connection.call(FETCH, request)
        finally:
            await connection.close()
    except KraftlakeError:
        return -1
    ((topic,),) = (answer.message["responses"],)
    return int(topic["partitions"][0]["highWatermark"])
