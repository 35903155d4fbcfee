"""Checks the invariants after every step of every replica, against the data that was written to
disk.

Sources: Ongaro's dissertation, figure 3.2; KIP-595, KIP-630, KIP-853. Kafka's own simulator,
RaftEventSimulationTest, checks some of these invariants.
"""

from __future__ import annotations

from collections import Counter

from replica.format.batch import decode_header
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import LeaderAndEpoch, SnapshotFacts
from replica.model.voters import VoterSet, without_directories
from replica.raft.effects import Effects
from replica.raft.inputs import Truncated
from replica.raft.log_state import HistoryEntry
from replica.raft.messages import PeerRequest
from replica.raft.roles import Leader, Resigned
from replica.raft.transitions import TransitionCause
from replica.simulate.appends import Appends
from replica.simulate.broken import broken, demand
from replica.simulate.check_quorum import CheckQuorum
from replica.simulate.elections import Elections
from replica.simulate.host import SimulatedHost, is_change_done
from replica.simulate.ledger import Ledger, LedgerBatch, Shadow, read_back, shadows_holding
from replica.simulate.node import key_of
from replica.simulate.workload import Workload


class Repeats:
    """Checks the requests of all replicas. While a replica keeps its role, it never sends a peer a
    request that equals the newest request of its type within `retry_backoff_ms`, even after an
    answer: after an answer with something new, the next request is different.
    """

    def __init__(self) -> None:
        self._newest: dict[ReplicaKey, dict[tuple[int, type], tuple[PeerRequest, int]]] = {}

    def opened(self, host: SimulatedHost) -> None:
        """Forget what a host's replica sent before a restart."""
        self._newest.pop(key_of(host), None)

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """Check a step. After a change of role, the earlier requests of the replica don't count. A
        vote isn't a change of role."""
        key, now = key_of(host), host.taken_at
        if any(each.cause is not TransitionCause.VOTED for each in host.raft.transitions):
            self._newest.pop(key, None)
        if not effects.sends:
            return
        newest = self._newest.setdefault(key, {})
        for send in effects.sends:
            kind = send.node_id, type(send.message)
            before, at = newest.get(kind, (None, 0))
            if before == send.message and now < at + host.config.retry_backoff_ms:
                broken("legal messages", f"{key} asks {send.node_id} again after {now - at} ms")
            newest[kind] = send.message, now


class Invariants:
    """Checks a run, and raises BrokenInvariantError.

    first_voters: the voters in force before a log names voters.
    static_voters: the voters in every replica's configuration.
    judged: the number of checks of each invariant, by its name. "core" and "legal messages" count
        each step, "liveness" each run that recovered, and the others each vote, leader, commit,
        record that two logs have, and so on.
    """

    def __init__(self, workload: Workload, first_voters: VoterSet, static_voters: VoterSet) -> None:
        self.ledger = Ledger(workload, first_voters)
        self.shadows: dict[ReplicaKey, Shadow] = {}
        self.appends = Appends()
        self.judged: Counter[str] = Counter()
        self._workload = workload
        self._static_voters = static_voters
        self._elections = Elections(self.judged)
        self._check_quorum = CheckQuorum(self.judged)
        self._repeats = Repeats()
        self._written: dict[tuple[int, int], LedgerBatch] = {}

    def opened(self, host: SimulatedHost) -> None:
        """Check a replica that has restarted: it must know its epoch and vote, and must not have
        lost a committed record."""
        key, end = key_of(host), host.log.log_end
        old = self.shadows.get(key, Shadow())
        self._elections.opened(host, old)
        self._check_quorum.opened(host)
        self._repeats.opened(host)
        kept = min(old.flushed, old.committed)
        demand(end >= kept, "committed", f"{key} lost offsets {end} to {kept}")
        shadow = self.shadows[key] = read_back(host, self._static_voters)
        shadow.promised = old.promised
        shadow.stored = 0 if host.opened_with is None else host.opened_with.epoch
        for entry in shadow.entries:
            self._match(entry)
        self._check_epochs(host, shadow)

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """Check a step whose effects were carried out. No message of the step has gone out yet."""
        self.judged["core"] += 1
        key = key_of(host)
        shadow = self.shadows[key]
        written = shadow.follow(host, effects)
        if self._elections.stepped(host, shadow, effects):
            self._check_complete(key, host.raft.role.epoch, shadow)
        if written:
            for entry in written:
                self._match(entry)
            if any(entry.voters is not None for entry in written):
                self._check_voters(key, shadow)
        log = host.raft.log
        is_changed = (
            log.voter_sets is not shadow.known_sets or log.versions is not shadow.known_versions
        )
        if is_changed or isinstance(host.taken, Truncated):
            self._check_in_force(host, shadow)
        self._check_watermark(host, shadow)
        self._check_committed(host, shadow, effects.load_snapshot)
        self._check_quorum.stepped(host, shadow)
        self._repeats.stepped(host, effects)
        if any(is_change_done(reply) for reply in effects.replies):
            self._check_change_done(host, shadow)
        if effects.leader_change is not None:
            self._check_leader_change(host, shadow, effects.leader_change)
        self.appends.handed(host)
        if host.raft.log.snapshots is not shadow.known_snapshots:
            self._check_snapshots(host, shadow)
        if host.raft.illegal_messages:
            broken("legal messages", f"{key} was sent {host.raft.illegal_messages}")

    def _check_epochs(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check that the leader epochs by which the core compares logs are the epochs of the log's
        batches. A log whose batches are all below its start still has the epoch of the last batch,
        which only leader-epoch-checkpoint holds."""
        known = [(each.epoch, each.start_offset) for each in host.raft.log.epochs]
        starts: list[tuple[int, int]] = []
        for entry in shadow.entries:
            if not starts or starts[-1][0] != entry.epoch:
                starts.append((entry.epoch, entry.base))
        if not starts and len(known) == 1:
            starts = [(known[0][0], host.log.log_start)]
        if known != starts:
            broken("log matching", f"{key_of(host)} takes its epochs for {known}, not {starts}")

    def ended(self, hosts: list[SimulatedHost]) -> None:
        """Check a run that has recovered: a replay of every disk must give the state of the
        committed log."""
        for host in hosts:
            machine, end = self._workload.machine(), host.machine.next_offset
            newest = [f.snapshot_id for f in host.log.snapshots.facts()][-1:]
            with host.disk.inspected():
                if newest and newest != [BOOTSTRAP_SNAPSHOT]:
                    machine.load_snapshot(newest[0], host.log.snapshots.batches(newest[0]))
                machine.commit(host.log.stored(machine.next_offset, end))
            same = self._workload.state(machine) == self.ledger.states.get(end)
            demand(same, "replay", f"the disk of {key_of(host)} at {end} gives another state")
        self.appends.ended(self.ledger)
        self.judged["liveness"] += 1
        self.judged["legal messages"] = self.judged["core"]
        self.judged["linearizable"] = self.appends.acknowledged

    def _match(self, entry: LedgerBatch) -> None:
        known = self._written.setdefault((entry.base, entry.epoch), entry)
        if known is entry:
            return
        self.judged["log matching"] += 1
        unknown = None in (known.before, entry.before)
        if not known.is_same(entry) or not (unknown or known.before == entry.before):
            broken("log matching", f"offset {entry.base} of epoch {entry.epoch} has two histories")

    def _check_voters(self, key: ReplicaKey, shadow: Shadow) -> None:
        """Check that a new voter set adds and removes at most one voter each, and that the previous
        voter set is committed."""
        newer = shadow.sets[-1].value
        first = HistoryEntry(-1, self.ledger.first_voters)
        before = shadow.sets[-2] if len(shadow.sets) > 1 else first
        offset, older = before.offset, before.value
        if any(voter.key == ReplicaKey(voter.key.node_id) for voter in older):
            newer = without_directories(newer)
        if older.keys == newer.keys:
            return
        self.judged["voter sets"] += 1
        close = older.has_overlapping_majority(newer)
        demand(close, "voter sets", f"{key}: {older.ids} is followed by {newer.ids}")
        pending = f"{key}: {newer.ids} follows {older.ids} of offset {offset}, not yet committed"
        demand(offset < self.ledger.end, "voter sets", pending)

    def _check_in_force(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check that the voter set and the kraft.version in force are the newest in the log,
        committed or not."""
        log = host.raft.log
        shadow.known_sets, shadow.known_versions = log.voter_sets, log.versions
        self.judged["voter sets"] += 1
        wrong = f"{key_of(host)} goes by {log.voters.ids}, its log names {shadow.voters.ids}"
        demand(log.voters == shadow.voters, "voter sets", wrong)
        version, logged = log.kraft_version, shadow.kraft_version
        wrong = f"{key_of(host)} goes by kraft.version {version}, its log names {logged}"
        demand(version == logged, "voter sets", wrong)

    def _check_change_done(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check that an administrator is told that a change is done only after the voters are
        committed."""
        self.judged["voter sets"] += 1
        written = shadow.sets[-1].offset if shadow.sets else -1
        early = f"{key_of(host)} says that voters are changed, those of offset {written} may go"
        demand(written < self.ledger.end, "voter sets", early)

    def _check_leader_change(
        self, host: SimulatedHost, shadow: Shadow, leader: LeaderAndEpoch
    ) -> None:
        """Check that a replica names itself as the leader only after its state machine has all
        records of older epochs."""
        key = key_of(host)
        if leader.leader_id == key.node_id:
            self.judged["state machine"] += 1
            first, has = shadow.first_of(leader.epoch), host.machine.next_offset
            early = f"{key} is told that it leads {leader.epoch}, and has what is below {has}"
            demand(first is not None and first.base < has, "state machine", early)

    def _check_complete(self, key: ReplicaKey, epoch: int, shadow: Shadow) -> None:
        """Check that a new leader holds all records that were committed in earlier epochs. By log
        matching it is enough to compare the last committed batch."""
        ledger = self.ledger
        if epoch <= ledger.epoch or not ledger.entries:
            return
        self.judged["committed"] += 1
        last = next(reversed(ledger.entries.values()))
        mine = shadow.at(last.base)
        if mine is None and (not shadow.entries or shadow.entries[0].base > last.base):
            has_it = shadow.flushed >= ledger.end  # a snapshot has the batch
        else:
            has_it = mine is not None and mine.is_same(last)
        lacks = f"leader {key} of epoch {epoch} lacks committed offset {last.base}"
        demand(has_it, "committed", lacks)

    def _check_watermark(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check that the high watermark of a leader never falls, that a majority holds everything
        below the high watermark, and that a record of the leader's epoch lies below the high
        watermark. Also check that a leader whose removal is committed no longer leads."""
        role = host.raft.role
        if not isinstance(role, Leader) or role.high_watermark is None:
            return
        reached = (role.epoch, role.high_watermark)
        if reached == shadow.watermark:
            return
        epoch, known = shadow.watermark
        falls = f"{key_of(host)} went from {known} back to {role.high_watermark}"
        demand(epoch != role.epoch or known < role.high_watermark, "high watermark", falls)
        self._check_reached(host, shadow, role.high_watermark)
        shadow.watermark = reached
        if shadow.sets and shadow.sets[-1].offset < role.high_watermark:
            left = f"{key_of(host)} leads on, and its removal is committed"
            demand(shadow.voters.is_voter(key_of(host)), "check quorum", left)

    def _check_reached(self, host: SimulatedHost, shadow: Shadow, end: int) -> None:
        epoch, name = host.raft.role.epoch, "high watermark"
        self.judged[name] += 1
        mine = any(e.epoch == epoch and e.last < end for e in reversed(shadow.entries))
        demand(mine, name, f"{end} in epoch {epoch} without a record of that epoch")
        voters = shadow.voters
        holding = shadows_holding(self.shadows, voters, end)
        enough = holding > len(voters) // 2
        demand(enough, name, f"{end} is flushed on {holding} of {len(voters)} voters")

    def _check_committed(
        self, host: SimulatedHost, shadow: Shadow, loaded: OffsetAndEpoch | None
    ) -> None:
        """Check that exactly the ledger's batches were committed, that the state machine has the
        state of the batches that it got, and that it loads no snapshot while the replica leads.
        loaded: the snapshot that the state machine has loaded in this step; None for no snapshot.
        """
        end, ledger, key = host.commit_end, self.ledger, key_of(host)
        if loaded is not None:
            leads = host.leader is not None and host.leader.leader_id == key.node_id
            which = f"{key} loaded {loaded.offset}-{loaded.epoch} while it led"
            demand(not leads, "state machine", which)
        if end != shadow.committed:
            self._check_commit(host, shadow, end)
        applied = host.machine.next_offset
        if applied == shadow.applied:
            return
        self.judged["replay"] += 1
        demand(shadow.applied < applied <= end, "replay", f"{key} went to {applied} of {end}")
        same = self._workload.state(host.machine) == ledger.states[applied]
        demand(same, "replay", f"{key} at {applied} has another state than the log gives")
        shadow.applied = applied

    def _check_commit(self, host: SimulatedHost, shadow: Shadow, end: int) -> None:
        """Check that a replica may raise its high watermark to `end`: its batches below `end` are
        batches that other replicas have committed, or new batches that a leader may commit now."""
        ledger, key = self.ledger, key_of(host)
        demand(end > shadow.committed, "high watermark", f"{key} fell to {end}")
        entry = shadow.at(max(shadow.committed, min(ledger.end, end)))
        if end > ledger.end:
            self._check_new(host, shadow, end)
        while entry is not None and entry.last < end:
            self._commit(entry)
            entry = shadow.at(entry.last + 1)
        demand(end in ledger.states, "committed", f"{key} committed to {end}, no batch's end")
        shadow.committed = end

    def _commit(self, entry: LedgerBatch) -> None:
        known = self.ledger.entries.get(entry.base)
        if known is None:
            self.ledger.extend(entry)
            return
        self.judged["committed"] += 1
        what = f"offset {entry.base} was committed with other content"
        demand(known.is_same(entry), "committed", what)

    def _check_new(self, host: SimulatedHost, shadow: Shadow, end: int) -> None:
        """Check that only a leader commits new records. A leader may commit its own removal,
        although it has resigned by the end of that step."""
        role, key = host.raft.role, key_of(host)
        leads = isinstance(role, Leader | Resigned) and self._elections.has_led(key, role.epoch)
        demand(leads, "high watermark", f"{key} commits {end}, no leader did")
        self._check_reached(host, shadow, end)
        self.ledger.epoch = max(self.ledger.epoch, role.epoch)

    def _check_snapshots(self, host: SimulatedHost, shadow: Shadow) -> None:
        """Check that the log starts at its oldest snapshot, and that a new snapshot can be read
        from the disk."""
        shadow.known_snapshots = host.raft.log.snapshots
        facts, start = host.log.snapshots.facts(), host.log.log_start
        oldest = facts[0].snapshot_id.offset if facts else 0
        starts = (
            f"the log of {key_of(host)} starts at {start}, its oldest snapshot ends at {oldest}"
        )
        demand(start in (0, oldest), "snapshots", starts)
        known = {*shadow.snapshots, BOOTSTRAP_SNAPSHOT}
        for snapshot in facts:
            if snapshot.snapshot_id not in known:
                self._check_snapshot(host, snapshot)
        shadow.snapshots = {snapshot.snapshot_id for snapshot in facts}

    def _check_snapshot(self, host: SimulatedHost, facts: SnapshotFacts) -> None:
        self.judged["snapshots"] += 1
        at, ledger = facts.snapshot_id, self.ledger
        name = f"{at.offset}-{at.epoch} of {key_of(host)}"
        last = ledger.ends.get(at.offset)
        if last is None or last.epoch != at.epoch:
            broken("snapshots", f"{name} ends at no committed batch of its epoch")
        appended = decode_header(last.data).max_timestamp
        wrong = f"{name} is of {facts.timestamp}, its last record of {appended}"
        demand(facts.timestamp == appended, "snapshots", wrong)
        machine = self._workload.machine()
        with host.disk.inspected():
            machine.load_snapshot(at, host.log.snapshots.batches(at))
        same = self._workload.state(machine) == ledger.states[at.offset]
        demand(same, "snapshots", f"{name} holds another state than the log gives")
        version = ledger.kraft_version_before(at.offset)
        other = f"{name} has kraft.version {facts.kraft_version}, committed is {version}"
        demand(facts.kraft_version == version, "snapshots", other)
        voters = ledger.voters_before(at.offset) if version else None
        demand(facts.voters == voters, "snapshots", f"{name} has other voters than the log")
