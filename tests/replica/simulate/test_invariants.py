"""Every invariant can break: each test makes a fault of the engine or of storage that one finds.

The faults of test_broken_rules are not repeated here.
"""

from dataclasses import replace

import pytest

from replica.history.fetch import Diverging
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine, OpaqueState
from replica.raft import core
from replica.raft.connections import PeerConnections
from replica.raft.follower import fetching
from replica.raft.leader import leading, replication, voter_changes
from replica.raft.messages import VoterChangeResponse
from replica.raft.roles import VoteTally
from replica.simulate import nemesis
from replica.simulate.broken import INVARIANTS, BrokenInvariantError, demand
from replica.storage import recovery
from replica.storage.begun_flush import BegunFlush
from replica.storage.snapshots import SnapshotFiles
from tests.replica.simulate.finding import found


def test_an_election_that_one_vote_wins_gives_an_epoch_two_leaders(monkeypatch):
    monkeypatch.setattr(VoteTally, "is_won", property(lambda tally: len(tally.granted) > 0))
    assert found("one leader", within_seeds=10)


def test_an_epoch_that_is_not_stored_is_caught(monkeypatch):
    persist = core.Core.persist

    def forgetting(self):
        persist(self)
        if self.role.voted is None:
            self.outbox.effects.quorum_state = None

    monkeypatch.setattr(core.Core, "persist", forgetting)
    assert found("epochs", within_seeds=10)


def test_a_flush_that_syncs_nothing_loses_what_was_committed(monkeypatch):
    monkeypatch.setattr(BegunFlush, "run", lambda begun: None)
    assert found("committed", within_seeds=10, first=3)


@pytest.mark.parametrize("machine", [OpaqueMachine, MetadataMachine])
def test_a_snapshot_that_lacks_records_is_caught_when_it_is_read_back(monkeypatch, machine):
    records = machine.snapshot_records

    def lacking(self):
        if isinstance(self, OpaqueMachine):
            self.state, whole = OpaqueState(self.state.batches + 1, self.state.digest), self.state
            found, self.state = records(self), whole
            return found
        whole_records = records(self)
        return lambda: whole_records()[:-1]

    monkeypatch.setattr(machine, "snapshot_records", lacking)
    assert found("snapshots", within_seeds=10, first=3)


@pytest.mark.parametrize("machine", [OpaqueMachine, MetadataMachine])
def test_a_machine_that_forgets_when_it_loads_a_snapshot_gives_another_state(monkeypatch, machine):
    load = machine.load_snapshot

    def forgetting(self, snapshot_id, batches):
        load(self, snapshot_id, list(batches)[:0] if machine is MetadataMachine else batches)
        if machine is OpaqueMachine:
            self.state = OpaqueState()

    monkeypatch.setattr(machine, "load_snapshot", forgetting)
    assert found("snapshots", within_seeds=10, first=3)


def test_a_state_that_depends_on_how_batches_come_is_no_replay(monkeypatch):
    commit = OpaqueMachine.commit

    def counting_calls(self, batches):
        commit(self, batches)
        self.state = OpaqueState(self.state.batches + 1, self.state.digest)

    monkeypatch.setattr(OpaqueMachine, "commit", counting_calls)
    assert found("replay", within_seeds=10)


def test_a_checkpoint_of_epochs_that_is_off_by_one_is_caught_at_the_next_start(monkeypatch):
    rule = recovery.read_checkpoint

    def shifted(files, folder):
        first, *later = rule(files, folder) or (None,)
        moved = [replace(entry, start_offset=entry.start_offset + 1) for entry in later]
        return None if first is None else (first, *moved)

    monkeypatch.setattr(recovery, "read_checkpoint", shifted)
    assert "takes its epochs for" in found("log matching", within_seeds=5)


def test_an_append_that_is_written_twice_breaks_linearizability(monkeypatch):
    append = leading.append

    def twice(core, batches=()):
        append(core, batches)
        again, end = [], core.log.log_end
        for batch in batches:
            if not batch.control:
                last = end + batch.last_offset - batch.base_offset
                again.append(replace(batch, base_offset=end, last_offset=last))
                end = last + 1
        if again:
            append(core, again)

    monkeypatch.setattr(leading, "append", twice)
    assert found("linearizable", within_seeds=10)


def test_a_leader_whose_watermark_falls_sends_illegal_messages(monkeypatch):
    answer = replication.answer

    def falling(core, request_id, request, decision):
        answer(core, request_id, request, decision)
        reply = core.outbox.effects.replies[-1]
        if core.draw(20) == 0 and (reply.message.high_watermark or 0) > 1:
            told = replace(reply, message=replace(reply.message, high_watermark=1))
            core.outbox.effects.replies[-1] = told

    monkeypatch.setattr(replication, "answer", falling)
    assert found("legal messages", within_seeds=10)


def test_a_replica_that_asks_for_the_same_without_a_pause_is_caught(monkeypatch):
    """Its leader calls each log that is equal to its own diverging. The follower cuts nothing, and
    asks again."""
    rule = replication.validate_position

    def confused(view, offset, epoch):
        is_equal = (offset, epoch) == (view.log_end, view.last_fetched_epoch)
        return Diverging(epoch, offset) if is_equal and offset else rule(view, offset, epoch)

    monkeypatch.setattr(replication, "validate_position", confused)
    assert "cuts nothing" in found("legal messages", within_seeds=1)
    monkeypatch.setattr(fetching, "_truncate", lambda core, diverging: None)
    monkeypatch.setattr(PeerConnections, "sendable_at", lambda self, node, _: self.ready_at(node))
    assert "again after" in found("legal messages", within_seeds=5)


def test_a_snapshot_that_is_not_of_the_time_of_its_last_record_is_caught(monkeypatch):
    write = SnapshotFiles.write
    monkeypatch.setattr(
        SnapshotFiles, "write", lambda self, at, time, facts: write(self, at, time + 1, facts)
    )
    assert "its last record of" in found("snapshots", within_seeds=5)


def test_a_leader_that_names_voters_which_did_not_vote_for_it_is_caught(monkeypatch):
    rule = leading._start_of_epoch

    def boasting(*of):
        change, *others = rule(*of)
        return [replace(change, granting_voters=change.voters), *others]

    monkeypatch.setattr(leading, "_start_of_epoch", boasting)
    assert "and writes LeaderChange" in found("votes", within_seeds=5)


def test_a_change_that_is_done_for_its_administrator_before_it_is_committed_is_caught(monkeypatch):
    rule = voter_changes.handle_remove_voter

    def hasty(*of):
        return rule(*of) or VoterChangeResponse()

    monkeypatch.setattr(voter_changes, "handle_remove_voter", hasty)
    monkeypatch.setattr(nemesis, "_ACTIONS", (nemesis._change_voters, nemesis._heal))
    assert "says that voters are changed" in found("voter sets", within_seeds=5, first=3)


def test_an_assertion_of_the_engine_that_fails_is_the_core_s_own(monkeypatch):
    def failing(core, *batches):
        raise AssertionError("no")

    monkeypatch.setattr(leading, "append", failing)
    assert found("core", within_seeds=1)


def test_every_checked_invariant_has_a_name():
    with pytest.raises(BrokenInvariantError, match="votes: twice"):
        demand(False, "votes", "twice")
    with pytest.raises(AssertionError, match="another"):
        demand(False, "another", "what")
    assert all(INVARIANTS.values())
