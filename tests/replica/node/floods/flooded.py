"""Three voters as processes on 127.0.0.1 that may open few files, and the
clients that flood them."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from replica.errors import PeerError
from replica.format.quorum_state import decode
from replica.wire.client import ClientConfig, Connection
from tests.in_threads import in_threads
from tests.kraftlake_process import started
from tests.process_status import status_of
from tests.replica.node.running import TOPIC
from tests.replica.node.security.quorum import OPAQUE, SecureQuorum, metrics_of

HOST = "127.0.0.1"
FILES = 256
"""The most files that each voter may open; at first it may open fewer."""
CLIENT = ClientConfig(timeout_s=5.0)
LINES = "kraftlake.principals.administrator=*\n"
_WITHIN_S = 30.0


class FloodedQuorum(SecureQuorum):
    """A quorum without TLS and SASL."""

    def start(self, node_id):
        said = self.folder / f"said{node_id}.txt"
        command = ("replica", "run", "-c", self.properties(node_id))
        self.processes[node_id] = started(said, *command, open_files=(64, FILES))

    def measured(self, node_id, name):
        """The value of a metric without labels."""
        lines = metrics_of(self.metrics[node_id]).splitlines()
        (found,) = (line for line in lines if line.startswith(f"kraftlake_{name} "))
        return float(found.split()[1])

    def epoch_and_leader(self, *node_ids, after=-1):
        """(epoch, leader) on which these nodes agree, as soon as they agree on a leader of an epoch
        after `after`."""
        deadline = time.monotonic() + _WITHIN_S
        while time.monotonic() < deadline:
            with suppress(OSError):
                seen = {
                    (
                        int(self.measured(node_id, "raft_current_epoch")),
                        int(self.measured(node_id, "raft_current_leader")),
                    )
                    for node_id in node_ids
                }
                if len(seen) == 1 and min(seen)[0] > after and min(seen)[1] >= 0:
                    return min(seen)
            time.sleep(0.1)
        raise AssertionError("\n".join(self.said(node_id) for node_id in node_ids))

    def voted_epoch(self, node_id):
        """The epoch of the vote in a node's quorum-state."""
        partition = self.folder / str(node_id) / f"{TOPIC}-0"
        return decode((partition / "quorum-state").read_bytes()).leader_epoch

    def threads(self, node_id):
        return status_of(self.processes[node_id].pid, "Threads")

    def resident_kib(self, node_id):
        return status_of(self.processes[node_id].pid, "VmRSS")


@contextmanager
def flooded(folder, lines=LINES, topic=OPAQUE):
    quorum = FloodedQuorum(folder, lines, topic)
    try:
        for node_id in quorum.ports:
            quorum.start(node_id)
        quorum.epoch_and_leader(1, 2, 3)
        yield quorum
    finally:
        for node_id in list(quorum.processes):
            quorum.kill(node_id)


@contextmanager
def asking(ports, count, frame):
    """Opens `count` connections to each port, in threads. Each connection sends the frame again
    after each answer. A closed connection is replaced."""
    over = threading.Event()

    def ask(port):
        while not over.is_set():
            with suppress(OSError), socket.create_connection((HOST, port), 2) as asking:
                asking.settimeout(1)
                while not over.is_set():
                    asking.sendall(frame)
                    size = int.from_bytes(asking.recv(4, socket.MSG_WAITALL), "big")
                    if not size:
                        break
                    asking.recv(size, socket.MSG_WAITALL)

    with in_threads(over, (partial(ask, port) for port in ports for _ in range(count))):
        yield


@contextmanager
def strangers(ports, count, sent=b""):
    """The sockets of `count` connections to each port, on which clients send `sent` and nothing
    more."""
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            for port in ports:
                with suppress(OSError):
                    stranger = stack.enter_context(socket.create_connection((HOST, port), 2))
                    stranger.sendall(sent)
                    found.append(stranger)
        yield found


@dataclass
class Guesses:
    """Guesses of passwords. entered: the configs that were accepted. refused: the number of refused
    guesses."""

    entered: list[ClientConfig] = field(default_factory=list)
    refused: int = 0


@contextmanager
def guessing(ports, count, configs):
    """While the block runs, `count` clients at each port try to log in by one config after the
    other, all in one thread."""
    over, found = threading.Event(), Guesses()

    async def guess(port):
        for config in itertools.cycle(configs):
            if over.is_set():
                return
            try:
                connection = await Connection.connect(HOST, port, config)
            except PeerError:
                found.refused += 1
                continue
            found.entered.append(config)
            await connection.close()

    async def guess_all():
        await asyncio.gather(*(guess(port) for port in ports for _ in range(count)))

    with in_threads(over, [lambda: asyncio.run(guess_all())]):
        yield found
