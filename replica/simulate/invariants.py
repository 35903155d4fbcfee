"""Raft's promises, checked after every step of every replica, against what really was written.

`Ledger` is what any leader ever committed; `Shadow` what a replica's log holds, kept here apart
from the core's own view. Raft: Ongaro's dissertation, figure 3.2; KIP-595, KIP-853.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from replica.errors import KraftlakeError
from replica.machines.opaque import OpaqueState
from replica.raft.effects import Effects
from replica.raft.messages import VoteResponse
from replica.raft.ports import Batch
from replica.raft.roles.leader import Leader
from replica.raft.roles.resigned import Resigned
from replica.simulate.host import SimulatedHost
from replica.storage.batches import bytes_of
from replica.types import ZERO_UUID, ReplicaKey

_CRC = slice(17, 21)


class BrokenInvariantError(KraftlakeError):
    """name: of the invariant; the text says what broke it."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


def _demand(holds: bool, name: str, detail: str) -> None:
    if not holds:
        raise BrokenInvariantError(name, detail)


class Entry(NamedTuple):
    """A batch; `before` is the epoch of the one before it, None where that isn't known."""

    base: int
    last: int
    epoch: int
    crc: bytes
    before: int | None
    data: bytes


@dataclass(slots=True)
class Shadow:
    """flushed, committed: exclusive ends; promised: the newest epoch it took part in."""

    entries: list[Entry] = field(default_factory=list)
    flushed: int = 0
    committed: int = 0
    promised: int = 0
    sets: object = None

    def at(self, base: int) -> Entry | None:
        index = bisect_left(self.entries, base, key=lambda entry: entry.base)
        found = self.entries[index : index + 1]
        return found[0] if found and found[0].base == base else None

    def add(self, batch: Batch) -> Entry:
        before = self.entries[-1] if self.entries else None
        follows = before is not None and before.last + 1 == batch.base_offset
        data = batch.data or bytes_of(batch)
        entry = Entry(
            batch.base_offset,
            batch.last_offset,
            batch.epoch,
            data[_CRC],
            before.epoch if before is not None and follows else None,
            b"" if batch.control else bytes_of(batch),
        )
        self.entries.append(entry)
        return entry

    def cut(self, end: int) -> None:
        while self.entries and self.entries[-1].last >= end:
            self.entries.pop()
        self.flushed = min(self.flushed, end)


@dataclass(slots=True)
class Ledger:
    """entries: committed batches by base offset; states: the opaque machine's at each end."""

    entries: dict[int, Entry] = field(default_factory=dict)
    states: dict[int, OpaqueState] = field(default_factory=lambda: {0: OpaqueState()})
    end: int = 0
    epoch: int = 0

    def extend(self, entry: Entry) -> None:
        state = self.states[self.end]
        self.entries[entry.base] = entry
        self.end = entry.last + 1
        self.states[self.end] = state.after(entry.data) if entry.data else state


class Invariants:
    """Everything known about a run; raises BrokenInvariantError."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.shadows: dict[ReplicaKey, Shadow] = {}
        self._leaders: dict[int, ReplicaKey] = {}
        self._votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self._written: dict[tuple[int, int], Entry] = {}
        self._proposed: dict[tuple[int, int], int] = {}

    def opened(self, host: SimulatedHost) -> None:
        """After a restart: nothing promised is forgotten, nothing committed is lost."""
        key, old = _key(host), self.shadows.get(_key(host), Shadow())
        state, log = host.opened_with, host.log
        epoch = -1 if state is None else state.epoch
        _demand(epoch >= old.promised or not old.promised, "votes", f"{key} forgot its epoch")
        voted = self._votes.get((key, epoch))
        known = None if state is None else state.voted
        if state is not None and known is None and state.leader_id == key.node_id:
            known = key  # who led an epoch voted for itself in it
        same = voted is None or (known is not None and _same_vote(known, voted))
        _demand(same, "votes", f"{key} forgot its vote in epoch {epoch}")
        kept = min(old.flushed, old.committed)
        _demand(log.log_end >= kept, "committed", f"{key} lost offsets {log.log_end} to {kept}")
        shadow = Shadow(flushed=log.log_end, committed=0, promised=old.promised)
        self.shadows[key] = shadow
        for batch in log.batches(log.log_start, log.log_end):
            self._match(shadow.add(batch))

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """After the effects of one step were carried out, before anybody hears of them."""
        shadow = self.shadows[_key(host)]
        self._follow_log(host, shadow, effects)
        self._check_role(host, shadow, effects)
        self._check_committed(host, shadow)
        illegal = host.raft.illegal_messages
        # a node that comes back with a wiped disk may hear that its former self leads
        excused = illegal.keys() <= {"a second leader of one epoch"}
        _demand(excused, "legal messages", f"{_key(host)} was sent {dict(illegal)}")

    def proposed(self, base: int, epoch: int) -> None:
        """A batch was appended by a client now, so it comes after all that is committed."""
        self._proposed[base, epoch] = self.ledger.end

    def _follow_log(self, host: SimulatedHost, shadow: Shadow, effects: Effects) -> None:
        if effects.truncate_to is not None:
            shadow.cut(effects.truncate_to)
        if effects.reset_to is not None:
            shadow.entries.clear()
        for batch in effects.append:
            self._match(shadow.add(batch))
        log = host.raft.log
        shadow.flushed = log.flushed_end
        if log.voter_sets is not shadow.sets:
            shadow.sets = log.voter_sets
            sets = [entry.voters for entry in log.voter_sets]
            for older, newer in pairwise(sets):
                close = older.has_overlapping_majority(newer)
                _demand(close, "voter sets", f"{older.ids} is followed by {newer.ids}")

    def _match(self, entry: Entry) -> None:
        known = self._written.setdefault((entry.base, entry.epoch), entry)
        unknown = None in (known.before, entry.before)
        same = known[:4] == entry[:4] and (unknown or known.before == entry.before)
        what = f"offset {entry.base} of epoch {entry.epoch} has two histories"
        _demand(same, "log matching", what)

    def _check_role(self, host: SimulatedHost, shadow: Shadow, effects: Effects) -> None:
        key, role = _key(host), host.raft.role
        if effects.replies or effects.sends:
            shadow.promised = max(shadow.promised, role.epoch)
        for reply in effects.replies:
            message = reply.message
            if isinstance(message, VoteResponse) and message.granted and role.voted is not None:
                known = self._votes.setdefault((key, role.epoch), role.voted)
                _demand(
                    _same_vote(known, role.voted), "votes", f"{key} voted twice in {role.epoch}"
                )
        if isinstance(role, Leader) and role.epoch not in self._leaders:
            self._leaders[role.epoch] = key
            self._check_complete(key, role.epoch, shadow)
        if isinstance(role, Leader):
            one = self._leaders[role.epoch] == key
            _demand(one, "one leader", f"{key} and {self._leaders[role.epoch]} in {role.epoch}")

    def _check_complete(self, key: ReplicaKey, epoch: int, shadow: Shadow) -> None:
        """A new leader has what earlier epochs committed; by log matching its last batch says."""
        ledger = self.ledger
        if epoch <= ledger.epoch or not ledger.entries:
            return
        last = next(reversed(ledger.entries.values()))
        mine = shadow.at(last.base)
        covered = not shadow.entries or shadow.entries[0].base > last.base
        lacks = f"leader {key} of epoch {epoch} lacks committed offset {last.base}"
        _demand(covered or (mine is not None and mine[:4] == last[:4]), "committed", lacks)

    def _check_committed(self, host: SimulatedHost, shadow: Shadow) -> None:
        end, ledger = host.machine.next_offset, self.ledger
        if end == shadow.committed:
            return
        entry = shadow.at(max(shadow.committed, min(ledger.end, end)))
        if end > ledger.end:
            self._check_watermark(host, end)
        while entry is not None and entry.last < end:
            self._commit(entry)
            entry = shadow.at(entry.last + 1)
        _demand(
            end in ledger.states, "committed", f"{_key(host)} committed to {end}, no batch's end"
        )
        same = host.machine.state == ledger.states[end]
        _demand(same, "replay", f"{_key(host)} at {end} has another state than the log gives")
        shadow.committed = end

    def _commit(self, entry: Entry) -> None:
        known = self.ledger.entries.get(entry.base)
        if known is not None:
            same = known[:4] == entry[:4]
            _demand(same, "committed", f"offset {entry.base} was committed with other content")
            return
        since = self._proposed.get((entry.base, entry.epoch), 0)
        _demand(entry.base >= since, "linearizable", f"offset {entry.base}, proposed at {since}")
        self.ledger.extend(entry)

    def _check_watermark(self, host: SimulatedHost, end: int) -> None:
        """Only a leader commits anew: with a record of its own epoch, flushed on a majority."""
        role, voters = host.raft.role, host.raft.log.voters
        name = "high watermark"
        # one that commits its own removal has resigned by the end of that step
        if not isinstance(role, Leader | Resigned) or self._leaders.get(role.epoch) != _key(host):
            raise BrokenInvariantError(name, f"{_key(host)} commits {end}, no leader did")
        newest = self.shadows[_key(host)].entries
        own = any(entry.epoch == role.epoch and entry.last < end for entry in reversed(newest))
        _demand(own, name, f"{end} in epoch {role.epoch} without a record of it")
        holding = sum(
            any(v.matches(key) and s.flushed >= end for key, s in self.shadows.items())
            for v in voters
        )
        enough = holding > len(voters) // 2
        _demand(enough, name, f"{end} is flushed on {holding} of {len(voters)} voters")
        self.ledger.epoch = max(self.ledger.epoch, role.epoch)


def _same_vote(a: ReplicaKey, b: ReplicaKey) -> bool:
    """A vote read from quorum-state v0 has lost its directory id."""
    unknown = ZERO_UUID in (a.directory_id, b.directory_id)
    return a.node_id == b.node_id and (unknown or a.directory_id == b.directory_id)


def _key(host: SimulatedHost) -> ReplicaKey:
    assert host.config.local is not None, "every simulated replica has an id"
    return host.config.local.key
