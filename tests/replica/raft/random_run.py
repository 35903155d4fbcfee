"""A quorum with crashes, on a network that loses, repeats and reorders messages. Invariants are
checked after every event.

One seed decides everything. This is a quick check of the core alone; replica.simulate is the full
simulator, with torn writes and drifting clocks.
"""

from __future__ import annotations

from random import Random

from replica.errors import UsageError
from replica.history.fetch import ValidPosition, validate_position
from replica.raft.inputs import Clean, Request
from replica.raft.messages import AddVoterRequest, RemoveVoterRequest
from replica.raft.roles import Leader
from tests.replica.raft.host import key, voter
from tests.replica.raft.quorum import Quorum


class RandomRun:
    """`quorum` under random events. committed: everything that any replica ever knew to be
    committed."""

    def __init__(self, seed, *voter_ids, observers=(), **changes):
        self.random = Random(seed)
        draws = [Random(self.random.random()) for _ in range(20)]
        self.quorum = Quorum(
            *voter_ids,
            observers=observers,
            draws=lambda node_id: lambda bound: draws[node_id].randrange(bound),
            **changes,
        )
        for host in self.quorum.hosts.values():
            host.flushes_late = True
        self.leaders = {}
        self.watermarks = {}
        self.votes = {}
        self.epochs = {}
        self.committed = {}
        self.proposed = 0
        self.events = [
            *[self.deliver] * 36,
            *[self.pass_time] * 12,
            *[self.flush] * 12,
            *[self.propose] * 5,
            *[self.drop] * 2,
            self.repeat,
            self.cut,
            *[self.heal] * 2,
            self.crash,
            self.snapshot,
            self.change_voters,
        ]

    def run(self, events):
        for _ in range(events):
            self.random.choice(self.events)()
            self.quorum.collect()
            self.check()

    def settle(self):
        """Stops the faults; then all replicas must get the same log."""
        self.quorum.cut.clear()
        self.quorum.letters.clear()
        for host in self.quorum.hosts.values():
            host.flushes_late = False
            host.flush()
        self.quorum.now = max(host.now for host in self.quorum.hosts.values())
        self.quorum.run(30_000, step=200)
        self.check()
        leader = self.quorum.leader
        assert leader is not None
        leader.propose(b"last")  # after all waiting records
        self.quorum.run(5_000, step=200)
        self.check()
        for node_id, host in self.quorum.hosts.items():
            assert host.applied[-1][1] == b"last", f"node {node_id} is not caught up"
            assert host.applied == leader.applied

    # events

    def host(self):
        return self.random.choice(list(self.quorum.hosts.values()))

    def take_letter(self):
        letters = self.quorum.letters
        return letters.pop(self.random.randrange(len(letters))) if letters else None

    def deliver(self):
        letter = self.take_letter()
        if letter is not None:
            self.quorum.deliver(letter)

    def drop(self):
        self.take_letter()

    def repeat(self):
        if self.quorum.letters:
            self.quorum.letters.append(self.random.choice(self.quorum.letters))

    def pass_time(self):
        self.host().after(self.random.choice((1, 20, 100, 600)))

    def flush(self):
        self.host().flush()

    def propose(self):
        """Proposes an encoded batch, or records that wait for the linger."""
        leading = [h for h in self.quorum.hosts.values() if isinstance(h.raft.role, Leader)]
        if leading:
            host = self.random.choice(leading)
            data = b"%d" % self.proposed
            if self.random.random() < 0.5:
                host.propose(data)
            else:
                host.append(data)
            self.proposed += 1

    def cut(self):
        self.quorum.cut.add(self.random.choice(list(self.quorum.hosts)))

    def heal(self):
        self.quorum.cut.clear()

    def crash(self):
        node_id = self.random.choice(list(self.quorum.hosts))
        self.quorum.now = self.quorum.hosts[node_id].now
        self.quorum.restart(node_id, crash=True)
        self.quorum.hosts[node_id].flushes_late = True

    def snapshot(self):
        host = self.host()
        try:
            host.snapshot()
        except UsageError:
            return
        host.step(Clean(10**9))

    def change_voters(self):
        host = self.host()
        if not isinstance(host.raft.role, Leader) or host.raft.log.kraft_version == 0:
            return
        node_id = self.random.choice(list(self.quorum.hosts))
        if host.raft.log.voters.voter(node_id) is None:
            new = voter(node_id)
            change = AddVoterRequest(voter=new.key, endpoints=new.endpoints, timeout_ms=3000)
        else:
            change = RemoveVoterRequest(voter=key(node_id), timeout_ms=3000)
        host.step(Request("change", change))

    # invariants

    def check(self):
        for node_id, host in self.quorum.hosts.items():
            self.check_nobody_is_accused(node_id, host)
            self.check_leader(node_id, host)
            self.check_vote(node_id, host)
            self.check_committed(node_id, host)
            self.check_log_start(host)

    def check_nobody_is_accused(self, node_id, host):
        """Correct peers send nothing illegal, however late it arrives."""
        assert not host.raft.illegal_messages, f"node {node_id}: {host.raft.illegal_messages}"

    def check_leader(self, node_id, host):
        """An epoch has at most one leader. A leader holds everything that was committed before, and
        its high watermark never falls."""
        role = host.raft.role
        if not isinstance(role, Leader):
            return
        watermark = role.high_watermark or 0
        assert watermark >= self.watermarks.get(role.epoch, 0), "the leader's watermark fell"
        self.watermarks[role.epoch] = watermark
        is_new = role.epoch not in self.leaders
        assert self.leaders.setdefault(role.epoch, node_id) == node_id, "two leaders of one epoch"
        if is_new and max(self.leaders) == role.epoch:
            for offset, batch in self.committed.items():
                if offset >= host.disk.log_start:
                    assert self.at(host, offset) == batch, f"leader lacks committed {offset}"

    def check_vote(self, node_id, host):
        """The stored epoch never falls, and a stored vote never changes."""
        state = host.disk.state
        if state is None:
            return
        assert state.epoch >= self.epochs.get(node_id, 0), "the epoch fell"
        assert host.raft.role.epoch == state.epoch, "the running epoch isn't the stored one"
        self.epochs[node_id] = state.epoch
        if state.voted is not None:
            voted = self.votes.setdefault((node_id, state.epoch), state.voted)
            assert voted == state.voted, "voted twice"

    def check_committed(self, node_id, host):
        """All replicas agree on the committed records."""
        watermark = host.raft.high_watermark
        if watermark is None:
            return
        for batch in reversed(host.disk.batches):
            if batch.end_offset <= watermark:
                if batch.base_offset in self.committed and batch.base_offset < watermark - 50:
                    break
                known = self.committed.setdefault(batch.base_offset, batch)
                assert known == batch, f"node {node_id} committed other records"

    def check_log_start(self, host):
        """A log starts at 0 or at its oldest snapshot, and a fetch at the log start gets
        records."""
        log = host.raft.log
        if log.log_start:
            oldest = log.snapshots[0].snapshot_id
            assert oldest.offset == log.log_start, "the log starts at no snapshot"
            decision = validate_position(log.view, oldest.offset, oldest.epoch)
            assert decision == ValidPosition(), "the oldest snapshot is not on the log's lineage"

    @staticmethod
    def at(host, offset):
        found = host.disk.read(offset)
        return found[0] if found and found[0].base_offset == offset else None
