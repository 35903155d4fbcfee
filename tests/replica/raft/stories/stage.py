"""`Stage`, which runs stories: a quorum whose clocks, network and disks obey commands.

The method `do_name` performs the command `name`, and returns the lines of its output. Messages
arrive and time advances only by commands.
"""

from __future__ import annotations

import re
from dataclasses import replace

from replica.errors import KraftlakeError
from replica.model.kafka_errors import ErrorCode
from replica.model.voters import without_directories
from replica.raft.inputs import Clean, Failed, Request, Resign, Response, Shutdown
from replica.raft.messages import PeerRequest, PeerResponse, VoteRequest, VoteResponse
from replica.raft.roles import Leader
from replica.raft.snapshots import SnapshotPolicy
from tests.replica.raft.host import Disk, Host, batch, voter
from tests.replica.raft.quorum import Letter, Quorum, is_inquiry, node_of
from tests.replica.raft.step import Step
from tests.replica.raft.stories.files import files_of
from tests.replica.raft.stories.script import Command
from tests.replica.raft.stories.transcript import letter_text, role_text, text, told
from tests.replica.raft.stories.values import numbers, pairs, request, response, span

MOST_LETTERS = 2000
_WAY = re.compile(r"(\*|\d+)->(\*|\d+)")


class Stage:
    """Performs the commands of a story. quorum: the quorum that the first command makes."""

    def __init__(self):
        self.quorum = Quorum()
        self.last = {}
        """By node: its last step that is in the output."""

    def perform(self, command: Command) -> list[str]:
        """Perform a command. Returns the lines of its output. After `quietly COMMAND` they are the
        state of each node, after `silently COMMAND` there are none."""
        if command.name == "silently":
            name, *words = command.words
            self.perform(Command(name, tuple(words), command.settings))
            return []
        if command.name == "quietly":
            name, *words = command.words
            self.perform(Command(name, tuple(words), command.settings))
            return self.do_state()
        method = getattr(self, f"do_{command.name.replace('-', '_')}", None)
        if method is None:
            raise ValueError(f"there is no command {command.name}")
        try:
            lines = list(method(*command.words, **command.settings))
        except KraftlakeError as error:
            lines = [f"{type(error).__name__}: {error}"]
        return [*lines, *self.news()] or ["nothing"]

    def news(self) -> list[str]:
        """The steps of the hosts since the last call, as lines."""
        lines = []
        for node_id, host in self.quorum.hosts.items():
            for step in host.steps:
                lines += told(node_id, self.last.get(node_id), self._seen(step, node_id))
                self.last[node_id] = step
            host.steps.clear()
        self.quorum.collect()
        return lines

    def _seen(self, step: Step, node_id: int) -> Step:
        """The step without the requests that the quorum loses."""
        if not self.quorum.loses_inquiries:
            return step
        key = self.quorum.hosts[node_id].config.local.key
        sends = tuple(
            send
            for send in step.effects.sends
            if not is_inquiry(step.role, step.voters.is_voter(key), send)
        )
        return replace(step, effects=replace(step.effects, sends=sends))

    def host(self, node_id) -> Host:
        return self.quorum.hosts[int(node_id)]

    # nodes and their disks

    def do_quorum(
        self,
        *voter_ids,
        observers="",
        servers="",
        voters="static",
        draws="",
        inquiries="lost",
        **settings,
    ):
        """Makes the quorum.

        servers: the bootstrap servers of all nodes.
        inquiries: `lost`, without any output, or `arrive`; see Quorum.loses_inquiries.
        voters: `static`, or `log` for kraft.version 1.
        draws: `NODE:NUMBER,...`, the random numbers of nodes, by default 37 times the node id.
        settings: fields of Config.
        """
        drawn = pairs(draws)
        self.quorum = Quorum(
            *map(int, voter_ids),
            observers=numbers(observers),
            draws=lambda node_id: lambda bound: drawn.get(node_id, 37 * node_id) % bound,
            in_log=voters == "log",
            **{name: int(value) for name, value in settings.items()},
        )
        self.quorum.loses_inquiries = inquiries == "lost"
        for node_id, host in self.quorum.hosts.items():
            static = without_directories(host.config.static_voters)
            asked = tuple(-10 - server for server in numbers(servers))
            host.config = replace(host.config, static_voters=static, bootstrap_ids=asked)
            host.disk = Disk(snapshots=host.disk.snapshots)
            self.quorum.restart(node_id)
        return []

    def do_disk(self, node_id, *batches):
        """Restarts the node on a disk that holds these batches, each `FIRST-LAST:EPOCH`."""
        made = []
        for written in batches:
            first, last, epoch = span(written)
            made.append(batch(first, last, epoch, b"%d" % first))
        host = self.host(node_id)
        host.disk = Disk(batches=made)
        host.disk.flushed = host.disk.log_end
        return self.do_restart(node_id)

    def do_restart(self, node_id, port="9000"):
        """Stops and starts a node. port: the port on which it listens from now on."""
        host = self.host(node_id)
        local = replace(host.config.local, endpoints=voter(int(node_id), port=int(port)).endpoints)
        host.config = replace(host.config, local=local)
        return self._start(node_id)

    def do_crash(self, node_id, holding_snapshots_of=None):
        """Stops and starts a node, which loses what it has not flushed. holding_snapshots_of: a
        node whose snapshots this node had fetched, but had not yet restarted its log at."""
        if holding_snapshots_of is not None:
            self.host(node_id).disk.snapshots |= self.host(holding_snapshots_of).disk.snapshots
        return self._start(node_id, crash=True)

    def do_wipe(self, node_id, directory):
        """Give a node an empty disk with another directory id."""
        host = self.host(node_id)
        host.disk = Disk()
        host.config = replace(host.config, local=voter(int(node_id), directory))
        return self._start(node_id)

    def _start(self, node_id, **how):
        self.last.pop(int(node_id), None)
        self.quorum.now = self.host(node_id).now
        self.quorum.restart(int(node_id), **how)
        return []

    # time and network

    def do_advance(self, ms):
        """Lets time advance for all nodes, in the order of their deadlines. No message arrives."""
        end = self._now + int(ms)
        lines = []
        while self._next_deadline <= end:
            lines += self._at(self._next_deadline)
        return [*lines, *self._at(end)]

    def do_run(self, ms):
        """Lets time advance for all nodes. Messages arrive at once."""
        end = self._now + int(ms)
        lines = self.do_settle()
        while self._next_deadline <= end:
            lines += [*self._at(self._next_deadline), *self.do_settle()]
        return [*lines, *self._at(end), *self.do_settle()]

    @property
    def _now(self):
        return max(host.now for host in self.quorum.hosts.values())

    @property
    def _next_deadline(self):
        return min(host.raft.next_deadline() for host in self.quorum.hosts.values())

    def _at(self, now):
        for host in self.quorum.hosts.values():
            host.at(max(now, host.now))
        return self.news()

    def do_deliver(self, *pattern):
        """Deliver the messages on their way that match `1->2`, `*->3` or a kind such as `Vote`."""
        lines = []
        for letter in self._take(pattern):
            lines += self._deliver(letter)
        return lines

    def do_settle(self):
        """Delivers all messages, also messages that are sent meanwhile, until none is
        on its way."""
        lines = []
        for _ in range(MOST_LETTERS):
            self.quorum.collect()
            if not self.quorum.letters:
                return lines
            lines += self._deliver(self.quorum.letters.pop(0))
        raise ValueError("the quorum never comes to rest")

    def do_elect(self, node_id, *granting):
        """Lets time advance until the node stands, and leads by the votes of `granting` alone.
        Other messages are lost, except the messages that it sends as leader."""
        host, voters = self.host(node_id), set(map(int, granting))
        for _ in range(MOST_LETTERS):
            if isinstance(host.raft.role, Leader):
                return self.do_state(node_id)
            letters = self._take(())
            for letter in letters:
                asks = letter.sender == int(node_id) and isinstance(letter.message, VoteRequest)
                told = letter.to == int(node_id) and isinstance(letter.message, VoteResponse)
                if (asks and letter.to in voters) or (told and letter.sender in voters):
                    self.quorum.deliver(letter)
            if not letters:
                self._at(self._next_deadline)
        raise ValueError(f"{node_id} is never elected")

    def do_drop(self, *pattern):
        return [f"lost: {letter_text(letter)}" for letter in self._take(pattern)]

    def do_repeat(self, *pattern):
        """Makes the network deliver the messages that match a second time, later."""
        found = self._take(pattern)
        self.quorum.letters += [*found, *found]
        return [f"twice: {letter_text(letter)}" for letter in found]

    def do_fail(self, *pattern, error="BROKER_NOT_AVAILABLE"):
        """Tells the senders of requests that no answer will come."""
        for letter in self._take(pattern):
            if isinstance(letter.message, PeerRequest):
                failed = Failed(letter.to, letter.correlation_id, ErrorCode[error])
                self.host(letter.sender).step(failed)
        return []

    def do_answer(self, *pattern, **said):
        """Answers requests on their way instead of the nodes that were asked."""
        for letter in self._take(pattern):
            answer = Response(letter.to, letter.correlation_id, response(letter.message, said))
            self.host(letter.sender).step(answer)
        return []

    def do_messages(self, *pattern):
        """Show the messages on their way."""
        self.quorum.collect()
        return [letter_text(letter) for letter in self.quorum.letters if _matches(letter, pattern)]

    def do_cut(self, *node_ids):
        self.quorum.cut |= set(map(int, node_ids))
        return [f"cut off: {text(tuple(sorted(self.quorum.cut)))}"]

    def do_heal(self):
        self.quorum.cut.clear()
        return ["nobody is cut off"]

    def _take(self, pattern) -> list[Letter]:
        self.quorum.collect()
        found = [letter for letter in self.quorum.letters if _matches(letter, pattern)]
        self.quorum.letters = [letter for letter in self.quorum.letters if letter not in found]
        return found

    def _deliver(self, letter):
        if {node_of(letter.sender), node_of(letter.to)} & self.quorum.cut:
            return [f"lost: {letter_text(letter)}"]
        self.quorum.deliver(letter)
        return self.news()

    # requests to a node

    def do_ask(self, node_id, name, **said):
        """Sends a node a request from outside the quorum, or one that no correct peer sends. The
        output has the records that the host read for the answer."""
        host = self.host(node_id)
        host.step(Request("client", request(name, said)))
        lines = self.news()
        answer = host.replies.pop("client", None)
        read = isinstance(answer, PeerResponse) and bool(
            getattr(answer, "batches", ()) or getattr(answer, "records", b"")
        )
        return [*lines, f"client gets {text(answer)}"] if read else lines

    def do_propose(self, node_id, *data):
        self.host(node_id).propose(*(word.encode() for word in data))
        return []

    def do_snapshot(self, node_id, offset=None):
        """Lets the state machine write a snapshot of what it has applied, or only up
        to `offset`."""
        made = self.host(node_id).snapshot(None if offset is None else int(offset))
        return ["no snapshot is due" if made is None else f"{node_id} has snapshot {text(made)}"]

    def do_clean(self, node_id, log_bytes="0"):
        self.host(node_id).step(Clean(int(log_bytes)))
        return []

    def do_slow(self, node_id):
        """Makes the node flush only on the command `flush` from now on."""
        self.host(node_id).flushes_late = True
        return [f"{node_id} flushes late"]

    def do_flush(self, node_id):
        self.host(node_id).flush()
        return []

    def do_resign(self, node_id):
        host = self.host(node_id)
        host.step(Resign(host.raft.role.epoch))
        return []

    def do_shutdown(self, node_id, ms):
        self.host(node_id).step(Shutdown(int(ms)))
        return []

    def do_snapshot_due(self, new_bytes, interval_ms, changed_ratio, **settings):
        """Whether a policy makes a snapshot now."""
        policy = SnapshotPolicy(**{name: float(value) for name, value in settings.items()})
        return [text(policy.is_due(int(new_bytes), int(interval_ms), float(changed_ratio)))]

    # what the commands show

    def do_state(self, *node_ids):
        """Shows a line for each named node, or for all nodes."""
        self.news()
        return [self._state(int(node_id)) for node_id in node_ids or self.quorum.hosts]

    def _state(self, node_id):
        host = self.quorum.hosts[node_id]
        log, watermark = host.raft.log, host.raft.high_watermark
        words = [f"log={log.log_start}-{log.log_end}"]
        words += [] if watermark is None else [f"high_watermark={watermark}"]
        words += [f"snapshot={text(facts.snapshot_id)}" for facts in log.snapshots]
        words += [f"voters={text(log.voters)}"]
        return f"{node_id} @{host.now} {role_text(self.last[node_id])} {' '.join(words)}"

    def do_log(self, *node_ids):
        """Shows the batches of a log."""
        for node_id in node_ids:
            yield from (f"{node_id} has {text(each)}" for each in self.host(node_id).disk.batches)

    def do_applied(self, *node_ids):
        """Shows the committed records that state machines were given, in order."""
        for node_id in node_ids:
            entries = " ".join(f"{at}:{text(data)}" for at, data in self.host(node_id).applied)
            yield f"{node_id} applied {entries or 'nothing'}"

    def do_files(self, node_id):
        """Show the files that storage would write for this node's disk."""
        return files_of(self.host(node_id).disk)


def _matches(letter: Letter, pattern) -> bool:
    name = type(letter.message).__name__
    names = (name, name.removesuffix("Request"))
    ends = (str(node_of(letter.sender)), str(node_of(letter.to)))
    ways = [way.groups() for way in map(_WAY.fullmatch, pattern) if way is not None]
    return all(word in names for word in pattern if not _WAY.fullmatch(word)) and all(
        asked in ("*", end) for way in ways for asked, end in zip(way, ends, strict=True)
    )
