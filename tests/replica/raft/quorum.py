"""Several hosts, and the messages on their way between them. The test decides which messages
arrive."""

from __future__ import annotations

from dataclasses import dataclass

from replica.raft.inputs import Request, Response
from replica.raft.messages import FetchRequest, PeerRequest, PeerResponse
from replica.raft.roles import Leader, Unattached
from tests.replica.raft.host import Disk, Host, bootstrapped, config, dynamic


@dataclass(frozen=True)
class Letter:
    """A request with the asking node's correlation id, or the response to it. `asked` is the id by
    which the asking node knows the other node."""

    sender: int
    to: int
    correlation_id: int
    message: PeerRequest | PeerResponse


def node_of(node_id):
    """The node with this id, or the node behind a bootstrap server's id."""
    return node_id if node_id >= -1 else -10 - node_id


def is_inquiry(role, is_voter, send):
    """Whether a voter without a leader asks another voter, and no bootstrap
    server, for the leader."""
    is_fetch = isinstance(send.message, FetchRequest)
    return is_fetch and is_voter and isinstance(role, Unattached) and send.node_id >= 0


class Quorum:
    """Hosts by node id. letters: the messages on their way. cut: nodes without a network.
    loses_inquiries: whether the fetches are lost by which static voters without a leader ask the
    other voters who leads.

    in_log: whether the voters are in the log (kraft.version 1), or else in the configuration.
    """

    def __init__(self, *voter_ids, observers=(), draws=None, in_log=False, **changes):
        draws = draws or (lambda node_id: lambda bound: (37 * node_id) % bound)
        self.draws = draws
        self.hosts = {}
        self.cut = set()
        self.letters = []
        self.loses_inquiries = False
        for node_id in (*voter_ids, *observers):
            servers = tuple(-10 - voter_id for voter_id in voter_ids)
            configuration = config(node_id, *voter_ids, bootstrap_ids=servers, **changes)
            disk = Disk()
            if in_log:
                configuration = dynamic(configuration)
                disk = bootstrapped(*voter_ids) if node_id in voter_ids else Disk()
            self.hosts[node_id] = Host(configuration, disk, draw=draws(node_id))
        self.now = 0

    def collect(self):
        """Puts the messages that hosts have sent on their way."""
        for node_id, host in self.hosts.items():
            for send in host.sends:
                if self.loses_inquiries and is_inquiry(host.raft.role, host.raft.is_voter, send):
                    continue
                self.letters.append(
                    Letter(node_id, send.node_id, send.correlation_id, send.message)
                )
            host.sends.clear()
            for request_id in [r for r in host.replies if isinstance(r, tuple)]:
                sender, asked, correlation_id = request_id
                response = host.replies.pop(request_id)
                self.letters.append(Letter(asked, sender, correlation_id, response))

    def deliver(self, letter):
        sender, to = node_of(letter.sender), node_of(letter.to)
        if {sender, to} & self.cut or to not in self.hosts:
            return
        host = self.hosts[to]
        if isinstance(letter.message, PeerRequest):
            host.step(Request((letter.sender, letter.to, letter.correlation_id), letter.message))
        else:
            host.step(Response(letter.sender, letter.correlation_id, letter.message))

    def settle(self, rounds=200):
        """Delivers all messages in order, also messages that are sent meanwhile, until none is
        left."""
        for _ in range(rounds):
            self.collect()
            letters, self.letters = self.letters, []
            if not letters:
                return
            for letter in letters:
                self.deliver(letter)
        raise AssertionError("the quorum never comes to rest")

    def run(self, ms, step=50):
        """Lets time advance for all hosts; messages arrive at once."""
        end = self.now + ms
        while self.now < end:
            self.now = min(self.now + step, end)
            for host in self.hosts.values():
                host.at(self.now)
            self.settle()

    def restart(self, node_id, *, crash=False):
        old = self.hosts[node_id]
        if crash:
            old.disk.lose_unflushed()
        self.hosts[node_id] = Host(old.config, old.disk, self.now, self.draws(node_id))

    @property
    def leader(self):
        """The leader of the newest epoch; None where there is no leader."""
        leading = [
            host
            for node_id, host in self.hosts.items()
            if isinstance(host.raft.role, Leader) and node_id not in self.cut
        ]
        return max(leading, key=lambda host: host.raft.role.epoch, default=None)
