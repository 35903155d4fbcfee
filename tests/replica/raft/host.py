"""`Host`: one core on an in-memory disk. It carries out effects as the real driver does, and keeps
the messages for the test to look at.

`lose_unflushed` makes a crash lose what was not flushed. A snapshot's bytes are a JSON text of its
facts and of the state machine, which is the list of committed batches that hold data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from replica.history.epochs import assign
from replica.model.batch import Batch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState, LogFacts, SnapshotFacts
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.raft.config import Config
from replica.raft.effects import Effects, LogRead, Send, SnapshotPart
from replica.raft.inputs import (
    Append,
    Failed,
    Flushed,
    Proposal,
    Propose,
    Request,
    Response,
    SnapshotFetched,
    SnapshotFrozen,
    SnapshotRejected,
    Tick,
    Truncated,
)
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.raft import Raft
from replica.raft.roles import Leader
from replica.raft.transitions import TransitionCause
from tests.replica.raft.snapshot_text import read_snapshot, snapshot_text
from tests.replica.raft.step import Step


def key(node_id, directory="a"):
    """A replica's key. Its directory id is readable, and 22 characters long as a UUID is in
    files."""
    return ReplicaKey(node_id, f"directory-{node_id}{directory}".ljust(21, "-") + "A")


def voter(node_id, directory="a", port=9000):
    return Voter(key(node_id, directory), (Endpoint("CONTROLLER", f"host-{node_id}", port),))


def voters(*node_ids):
    return voter_set(voter(node_id) for node_id in node_ids)


def config(node_id, *voter_ids, **changes):
    """The configuration of node `node_id` in a static quorum of `voter_ids`."""
    return replace(
        Config("cluster", voter(node_id), voters(*voter_ids)),
        election_timeout_ms=1000,
        fetch_timeout_ms=2000,
        fetch_max_wait_ms=200,
        request_timeout_ms=500,
        **changes,
    )


def dynamic(configuration):
    """The configuration of a node in a quorum that keeps its voters in the log."""
    return replace(configuration, static_voters=VoterSet())


def bootstrapped(*voter_ids):
    """The disk of a voter that was just formatted: snapshot 0-0 holds kraft.version 1 and the
    voters."""
    facts = SnapshotFacts(BOOTSTRAP_SNAPSHOT, 0, 0, voters(*voter_ids), 1)
    return Disk(snapshots={BOOTSTRAP_SNAPSHOT: snapshot_text(facts, [])})


@dataclass
class Disk:
    """What survives a stop. Only the first `flushed` batches survive a crash."""

    state: ElectionState | None = None
    log_start: int = 0
    batches: list[Batch] = field(default_factory=list)
    flushed: int = 0
    snapshots: dict[OffsetAndEpoch, bytes] = field(default_factory=dict)

    @property
    def log_end(self):
        return self.batches[-1].end_offset if self.batches else self.log_start

    def facts(self):
        epochs = ()
        for batch in self.batches:
            epochs = assign(epochs, batch.epoch, max(batch.base_offset, self.log_start))
        return LogFacts(
            self.log_start,
            self.log_end,
            epochs,
            tuple(self.snapshot_facts(i) for i in sorted(self.snapshots)),
            tuple(b for b in self.batches if b.control and b.base_offset >= self.log_start),
        )

    def snapshot_facts(self, snapshot_id):
        data = self.snapshots[snapshot_id]
        return read_snapshot(data)[0]

    def read(self, start_offset, max_bytes=2**31):
        found, size = [], 0
        for batch in self.batches:
            if batch.end_offset > start_offset:
                size += len(batch.data)
                if found and size > max_bytes:
                    break
                found.append(batch)
        return tuple(found)

    def lose_unflushed(self):
        self.batches = [b for b in self.batches if b.end_offset <= self.flushed]


class Host:
    """A core and its disk. sends: the requests since the last call of `take`. replies: the
    responses by request id."""

    def __init__(self, configuration, disk=None, now=0, draw=lambda bound: 0):
        self.config = configuration
        self.disk = disk or Disk()
        self.now = now
        self.applied = []
        """(offset, data) of committed batches that hold data."""
        self.next_offset = 0
        self.leaders = []
        self.loaded = []
        self.sends = []
        self.replies = {}
        self.steps = []
        self.flushes_late = False
        """Whether the host flushes only when the test calls `flush`, as on a slow disk."""
        self.owes_flush = False
        self._parts = {}
        self.disk.flushed = self.disk.log_end  # as opening a real log writes it again
        self.raft = Raft(configuration, self.disk.facts(), self.disk.state, draw, now)
        self.step(Tick())

    def step(self, event):
        """Steps the core, then again with the results of its effects. Returns the first step's
        effects."""
        effects = self.raft.step(event, self.now)
        raft, illegal = self.raft, dict(self.raft.illegal_messages)
        told = Step(self.now, event, effects, raft.role, raft.log.voters, illegal)
        self.steps.append(told)
        if any(each.cause is not TransitionCause.VOTED for each in raft.transitions):
            # the core ignores answers to what it asked in the former role
            self.sends = [s for s in self.sends if not isinstance(s.message, FetchRequest)]
        for answer in self._carry_out(effects):
            self.step(answer)
        return effects

    def _carry_out(self, effects: Effects):
        answers = []
        disk = self.disk
        if effects.quorum_state is not None:
            disk.state = effects.quorum_state
        if effects.truncate_to is not None:
            disk.batches = [b for b in disk.batches if b.last_offset < effects.truncate_to]
            disk.flushed = min(disk.flushed, disk.log_end)
            answers.append(Truncated(disk.log_end))
        if effects.reset_to is not None:
            offset = effects.reset_to.offset
            disk.batches, disk.log_start, disk.flushed = [], offset, offset
            disk.snapshots = {i: s for i, s in disk.snapshots.items() if i >= effects.reset_to}
        for batch in effects.append:
            assert batch.base_offset == disk.log_end
            encoded = batch.data or b"".join(batch.values)
            disk.batches.append(replace(batch, data=encoded, values=()))
        self.owes_flush |= bool(effects.append)
        if self.owes_flush and not self.flushes_late:
            self.owes_flush, disk.flushed = False, disk.log_end
            answers.append(Flushed(disk.log_end))
        answers += [a for part in effects.snapshot_parts for a in self._write(part)]
        if effects.log_start is not None:
            disk.log_start = effects.log_start
            disk.batches = [b for b in disk.batches if b.end_offset > effects.log_start]
        for snapshot_id in effects.delete_snapshots:
            del disk.snapshots[snapshot_id]
        self._tell_machine(effects)
        self._check_nothing_waits_for_a_flush(effects)
        self.sends += effects.sends
        for reply in effects.replies:
            self.replies[reply.request_id] = self._filled(reply)
        return answers

    def _check_nothing_waits_for_a_flush(self, effects):
        """Assert that the core holds back what must wait for a flush (see replica.raft.effects)."""
        for send in effects.sends:
            if isinstance(send.message, FetchRequest):
                fetched = send.message.fetch_offset
                assert fetched <= self.disk.flushed, "a fetch acknowledges what no flush has kept"
            if isinstance(send.message, VoteRequest):
                is_kept = self.disk.flushed == self.disk.log_end
                assert is_kept, "a vote is asked for a log that no flush has kept"
        role = self.raft.role
        if effects.commit is not None and isinstance(role, Leader):
            voters = self.raft.log.voters
            ends = {key: progress.log_end for key, progress in role.progress.items()}
            local = voters.voter_of(role.local)
            if local is not None:
                ends[local.key] = self.disk.flushed
            holders = [voter for voter in voters if ends.get(voter.key, 0) >= effects.commit]
            assert 2 * len(holders) > len(voters), "a commit counts what no flush has kept"

    def _tell_machine(self, effects):
        if effects.load_snapshot is not None:
            _, self.applied = read_snapshot(self.disk.snapshots[effects.load_snapshot])
            self.next_offset = effects.load_snapshot.offset
            self.loaded.append(effects.load_snapshot)
        if effects.commit is not None:
            for batch in self.disk.read(self.next_offset):
                if batch.end_offset <= effects.commit:
                    self.next_offset = batch.end_offset
                    if batch.data:
                        self.applied.append((batch.base_offset, batch.data))
        if effects.leader_change is not None:
            self.leaders.append(effects.leader_change)

    def _write(self, part: SnapshotPart):
        written = self._parts.setdefault(part.snapshot_id, b"") if part.position else b""
        assert len(written) == part.position
        self._parts[part.snapshot_id] = written + part.data
        if not part.is_last:
            return []
        data = self._parts.pop(part.snapshot_id)
        try:
            facts, _ = read_snapshot(data)
        except Exception:  # noqa: BLE001 (whatever garbage gives)
            return [SnapshotRejected(part.snapshot_id)]
        self.disk.snapshots[part.snapshot_id] = data
        return [SnapshotFetched(facts)]

    def _filled(self, reply):
        if reply.read is None:
            return reply.message
        if isinstance(reply.read, LogRead):
            batches = self.disk.read(reply.read.start_offset, reply.read.max_bytes)
            if not isinstance(reply.message, FetchResponse):
                return replace(reply.message, records=b"".join(b.data for b in batches))
            return replace(reply.message, batches=batches)
        data = self.disk.snapshots[reply.read.snapshot_id]
        position = reply.read.position
        return replace(reply.message, data=data[position : position + reply.read.length])

    # what tests call

    @property
    def effects(self):
        return [step.effects for step in self.steps]

    def at(self, now):
        """Lets time advance to `now` (ms), step by step."""
        while (deadline := self.raft.next_deadline()) <= now:
            self.now = max(self.now, deadline)
            self.step(Tick())
        self.now = now
        self.step(Tick())

    def after(self, ms):
        self.at(self.now + ms)

    def ask(self, message, request_id="request"):
        """Steps the core with a request. Returns the response; None if it comes later."""
        self.replies.pop(request_id, None)
        self.step(Request(request_id, message))
        return self.replies.pop(request_id, None)

    def take(self, kind):
        """The requests of one kind since the last `take`. Requests of other kinds are forgotten."""
        found = [send for send in self.sends if isinstance(send.message, kind)]
        self.sends.clear()
        return found

    def answer(self, send: Send, message):
        self.step(Response(send.node_id, send.correlation_id, message))

    def fail(self, send: Send, **error):
        self.step(Failed(send.node_id, send.correlation_id, **error))

    def flush(self):
        """Does the flush that is due."""
        if self.owes_flush:
            self.owes_flush, self.disk.flushed = False, self.disk.log_end
            self.step(Flushed(self.disk.log_end))

    def propose(self, *data, records=1):
        """Appends one batch for each argument."""
        self.step(Propose(self.raft.role.epoch, tuple(Proposal(records, d) for d in data)))

    def append(self, *values):
        """Appends records, which wait for the linger. Returns the first offset."""
        offset = self.raft.next_append_offset
        self.step(Append(self.raft.role.epoch, values))
        return offset

    def snapshot(self, offset=None):
        """Lets the state machine write a snapshot up to `offset` (exclusive; None: everything that
        it has applied). Returns its id; None if it isn't worth writing."""
        end = self.next_offset if offset is None else offset
        log = self.raft.log
        epoch = max((e.epoch for e in log.epochs if e.start_offset < end), default=log.last_epoch)
        snapshot_id = OffsetAndEpoch(end, epoch)
        if not self.raft.may_create_snapshot(snapshot_id):
            return None
        version = log.kraft_version_at(end - 1)
        in_force = log.voters_at(end - 1) if version else None
        facts = SnapshotFacts(snapshot_id, 0, self.now, in_force, version)
        applied = [entry for entry in self.applied if entry[0] < end]
        data = snapshot_text(facts, applied)
        self.disk.snapshots[snapshot_id] = data
        self.step(SnapshotFrozen(replace(facts, size=len(data))))
        return snapshot_id

    def restarted(self, *, crash=False, configuration=None):
        """Another host on the same disk."""
        if crash:
            self.disk.lose_unflushed()
        return Host(configuration or self.config, self.disk, self.now)


def elect(host):
    """Lets the election timeout run out, and all nodes vote for this host. Returns its epoch."""
    host.after(host.config.election_timeout_ms)
    return win(host)


def win(host):
    """Lets all nodes grant the pre-votes and votes of this host. Returns its epoch as leader."""
    while requests := [send for send in host.sends if isinstance(send.message, VoteRequest)]:
        host.sends.clear()
        for send in requests:
            host.answer(send, VoteResponse(epoch=send.message.epoch, granted=True))
    assert isinstance(host.raft.role, Leader)
    return host.raft.role.epoch


def fetch(host, node_id, offset, last_epoch=None, **changes):
    """Let a replica fetch from `host` at `offset`, without waiting. Returns the response."""
    epoch = host.raft.role.epoch
    request = FetchRequest(
        **{
            "replica": key(node_id),
            "epoch": epoch,
            "fetch_offset": offset,
            "last_fetched_epoch": epoch if last_epoch is None else last_epoch,
            **changes,
        }
    )
    return host.ask(request)


def begin(host, leader_id, epoch, **changes):
    """Let a leader send BeginQuorumEpoch to `host`. Returns the response."""
    message = BeginQuorumEpochRequest(epoch=epoch, leader_id=leader_id, **changes)
    return host.ask(message)


def batch(base, last, epoch, data=b"x", control=()):
    return Batch(base, last, epoch, 0, control, data)


def vote(host, candidate, epoch, last_epoch=0, end_offset=0, **changes):
    message = VoteRequest(
        epoch=epoch,
        candidate=key(candidate) if isinstance(candidate, int) else candidate,
        last_epoch=last_epoch,
        end_offset=end_offset,
        **changes,
    )
    return host.ask(message)


def stored(host):
    state = host.disk.state
    return (state.epoch, state.leader_id, state.voted)
