"""Each test breaks one rule of the engine. The simulator finds it within a few seeds, and names the
invariant that breaks."""

from dataclasses import replace

import pytest

from replica.history.fetch import Diverging, ValidPosition
from replica.model.keys import ReplicaKey
from replica.model.voters import majority
from replica.raft import core, raft, roles
from replica.raft.follower import fetch_requests
from replica.raft.leader import replication, voter_changes
from replica.raft.log_state import LogState
from replica.simulate import nemesis
from replica.simulate.broken import BrokenInvariantError
from tests.replica.simulate.behind_a_snapshot import ask_across_a_snapshot, by_records_alone
from tests.replica.simulate.finding import found


def test_a_high_watermark_without_a_record_of_the_leader_s_own_epoch(monkeypatch):
    rule = roles.leader_high_watermark
    monkeypatch.setattr(
        roles,
        "leader_high_watermark",
        lambda voters, ends, epoch_start, current: rule(voters, ends, -1, current),
    )
    assert found("high watermark", within_seeds=5)


def test_a_vote_that_is_not_on_disk_before_the_reply(monkeypatch):
    persist = core.Core.persist

    def forgetting(self):
        persist(self)
        state = self.outbox.effects.quorum_state
        if state is not None:
            self.outbox.effects.quorum_state = replace(state, voted=None)

    monkeypatch.setattr(core.Core, "persist", forgetting)
    assert found("votes", within_seeds=5)


def test_truncation_by_offset_alone_without_a_look_at_the_epoch(monkeypatch):
    rule = replication.validate_position

    def by_offset(view, offset, epoch):
        decision = rule(view, offset, epoch)
        is_inside = view.log_start < offset <= view.log_end
        return ValidPosition() if isinstance(decision, Diverging) and is_inside else decision

    monkeypatch.setattr(replication, "validate_position", by_offset)
    assert found("log matching", within_seeds=15)


def test_a_snapshot_that_does_not_count_when_logs_are_compared(monkeypatch):
    ask_across_a_snapshot()
    monkeypatch.setattr(LogState, "position", property(by_records_alone))
    with pytest.raises(BrokenInvariantError, match="votes: "):
        ask_across_a_snapshot()


def test_a_follower_that_acknowledges_before_it_has_flushed(monkeypatch):
    monkeypatch.setattr(fetch_requests, "awaits_flush", lambda core: False)
    assert found("high watermark", within_seeds=5)


def test_a_voter_set_in_force_from_its_commit_on_and_not_from_its_append(monkeypatch):
    rule = replication.update_high_watermark

    def by_committed_voters(core):
        log, committed = core.log, core.committed or 0
        core.log = replace(log, voter_sets=tuple(v for v in log.voter_sets if v.offset < committed))
        if not core.log.voters:
            core.log = log
        rule(core)
        core.log = log

    for module in (replication, raft):
        monkeypatch.setattr(module, "update_high_watermark", by_committed_voters)
    assert found("high watermark", within_seeds=15)


def test_a_second_change_of_the_voters_while_one_is_pending(monkeypatch):
    rule = voter_changes._unready

    def hasty(core, request):
        role = core.role
        if isinstance(role, roles.Leader) and core.log.kraft_version and role.high_watermark:
            core.keep(replace(role, change=None))
            return None
        return rule(core, request)

    monkeypatch.setattr(voter_changes, "_unready", hasty)
    assert found("voter sets", within_seeds=20, first=14)


def test_a_leader_that_counts_itself_after_its_removal(monkeypatch):
    def with_itself(self, voters, local_flushed_end):
        ends = [self.progress.get(key, roles.ReplicaProgress()).log_end for key in voters.keys]
        ends = sorted([*ends, local_flushed_end], reverse=True)
        if not voters.is_voter(self.local) and ends[majority(len(voters)) - 1] > self.epoch_start:
            reached = max(ends[majority(len(voters)) - 1], self.high_watermark or 0)
            return replace(self, high_watermark=reached)
        return rule(self, voters, local_flushed_end)

    rule = roles.Leader.counted
    monkeypatch.setattr(roles.Leader, "counted", with_itself)
    # leaders must be removed, which all faults together seldom let them: in 1 of 60 runs
    removals = (nemesis._remove_leader,) * 2
    others = (nemesis._change_voters, nemesis._upgrade, nemesis._isolate, *(nemesis._heal,) * 2)
    monkeypatch.setattr(nemesis, "_ACTIONS", (*removals, *others))
    assert found("high watermark", within_seeds=8, first=3)


def test_a_new_leader_that_goes_on_with_the_high_watermark_of_its_follower_time(monkeypatch):
    become = core.Core.become

    def hasty(self, cause, role):
        if isinstance(role, roles.Leader):
            role = replace(role, high_watermark=self.committed)
        become(self, cause, role)

    monkeypatch.setattr(core.Core, "become", hasty)
    assert found("high watermark", within_seeds=10)


def test_a_majority_that_observers_help_to_make(monkeypatch):
    def counting_all(core, replica, fetch_offset):
        if core.log.voters.is_voter(replica):
            count(core, replica, fetch_offset)
        else:
            core.keep(core.leader.fetched(replica, fetch_offset, core.log.log_end, core.now))
            replication.update_high_watermark(core)

    def with_observers(self, voters, local_flushed_end):
        everyone = frozenset(voters.keys | self.progress.keys())
        ends = {key: progress.log_end for key, progress in self.progress.items()}
        ends[self.local] = local_flushed_end
        if voters.voter(self.local.node_id) == ReplicaKey(self.local.node_id):
            return rule(self, voters, local_flushed_end)
        best = sorted((ends.get(key, 0) for key in everyone), reverse=True)
        reached = best[majority(len(voters)) - 1]
        if reached <= self.epoch_start or reached <= (self.high_watermark or 0):
            return self
        return replace(self, high_watermark=reached)

    count = replication.count_fetch
    monkeypatch.setattr(replication, "count_fetch", counting_all)
    rule = roles.Leader.counted
    monkeypatch.setattr(roles.Leader, "counted", with_observers)
    assert found("high watermark", within_seeds=5)
