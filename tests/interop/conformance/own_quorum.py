"""A quorum of kraftlake's core, recorded as Kafka's quorum is, to test the judge and the rules."""

from __future__ import annotations

import random
from dataclasses import replace

from replica.model.voters import Endpoint
from replica.raft.messages import DescribeQuorumRequest, FetchRequest, PeerRequest, VoteRequest
from tests.interop.conformance.exchanges import NEVER, Exchange, Replica, Started, Trace
from tests.replica.raft.host import key
from tests.replica.raft.quorum import Letter, Quorum, node_of

CLUSTER_ID = "cluster"
FIRST = (1, 2, 3)


class Recorded(Quorum):
    """A quorum whose messages are kept. Each message takes a microsecond."""

    def __init__(self, *voter_ids: int, **options: object) -> None:
        super().__init__(*voter_ids, in_log=True, **options)
        self.kept: dict[tuple[int, int, int], Exchange] = {}
        self.starts: list[Started] = []
        self._tick = 0
        self._lives: dict[int, int] = {}

    def at(self) -> int:
        self._tick += 1
        return self.now * 1_000_000 + self._tick

    def collect(self) -> None:
        self._note_answers()
        before = len(self.letters)
        super().collect()
        for letter in self.letters[before:]:
            sender, to = node_of(letter.sender), node_of(letter.to)
            if isinstance(letter.message, PeerRequest):
                which = (sender, self._lives.get(sender, 0), letter.correlation_id)
                self.kept[which] = Exchange(
                    sender, to, to, self.at(), NEVER, NEVER, NEVER, letter.message, None
                )

    def _note_answers(self) -> None:
        """Notes the answers. An answer leaves its host in the step that makes it."""
        for host in self.hosts.values():
            for asked, reply in host.replies.items():
                if isinstance(asked, tuple):
                    sender, _, correlation_id = asked
                    which = (sender, self._lives.get(sender, 0), correlation_id)
                    found = self.kept.get(which)
                    if found is not None and found.reply is None:
                        self.kept[which] = replace(found, answered=self.at(), reply=reply)

    def deliver(self, letter: Letter) -> None:
        sender, to = node_of(letter.sender), node_of(letter.to)
        if not {sender, to} & self.cut and to in self.hosts:
            if isinstance(letter.message, PeerRequest):
                which = (sender, self._lives.get(sender, 0), letter.correlation_id)
                if which in self.kept:
                    self.kept[which] = replace(self.kept[which], asked=self.at())
            elif (known := self._asked_by(letter)) is not None:
                self.kept[known] = replace(self.kept[known], told=self.at())
        super().deliver(letter)
        self._note_answers()

    def restart(self, node_id: int, *, crash: bool = False) -> None:
        super().restart(node_id, crash=crash)
        self._lives[node_id] = self._lives.get(node_id, 0) + 1
        self.starts.append(Started(self.at(), node_id))

    def probe(self, node_id: int, request: PeerRequest) -> None:
        """Sends a request as a client that is no node."""
        asked = self.at()
        reply = self.hosts[node_id].ask(request)
        which = (-1, 0, asked)
        self.kept[which] = Exchange(
            None, node_id, 0, asked, asked, self.at(), NEVER, request, reply
        )

    def _asked_by(self, letter: Letter) -> tuple[int, int, int] | None:
        asker = node_of(letter.to)
        which = (asker, self._lives.get(asker, 0), letter.correlation_id)
        return which if which in self.kept else None

    def trace(self) -> Trace:
        replicas = {
            node_id: Replica(key(node_id), Endpoint("CONTROLLER", f"host-{node_id}", 9000), FIRST)
            for node_id in self.hosts
        }
        kept = sorted(self.kept.values(), key=lambda each: (each.asked, each.sent))
        return Trace(CLUSTER_ID, replicas, tuple(kept), tuple(self.starts))


def recorded(seed: int, rounds: int = 12) -> Trace:
    """The trace of elections, appends, cut nodes and crashes, as the seed decides."""
    choice = random.Random(seed)
    quorum = Recorded(*FIRST, draws=lambda node_id: random.Random(f"{seed} {node_id}").randrange)
    quorum.run(4000)
    for _ in range(rounds):
        node_id = choice.choice((1, 2, 3))
        match choice.choice(("cut", "heal", "crash", "append", "ask")):
            case "cut":
                quorum.cut = {node_id}
            case "crash":
                quorum.restart(node_id, crash=True)
            case "append":
                for host in quorum.hosts.values():
                    if host is quorum.leader:
                        host.propose(b"some")
            case "ask":
                quorum.probe(node_id, DescribeQuorumRequest(cluster_id=CLUSTER_ID))
                epoch = quorum.hosts[node_id].raft.role.epoch
                candidate = key(choice.choice([each for each in (1, 2, 3) if each != node_id]))
                quorum.probe(node_id, VoteRequest(
                    epoch=epoch, candidate=candidate, last_epoch=0, end_offset=0, pre_vote=True,
                ))  # fmt: skip
                quorum.probe(node_id, FetchRequest(
                    replica=key(9), epoch=epoch, fetch_offset=10**6, last_fetched_epoch=epoch,
                ))  # fmt: skip
            case _:
                quorum.cut = set()
        quorum.run(choice.randrange(500, 4000))
    return quorum.trace()
