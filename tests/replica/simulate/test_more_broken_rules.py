"""More rules of the engine, broken one at a time as in test_broken_rules: the simulator names the
invariant that each of them breaks, within a few seeds."""

from dataclasses import replace

from replica.history import watermark
from replica.host.host import Host
from replica.model.voters import VoterSet
from replica.raft import core, election, raft, roles
from replica.raft.config import FOREVER
from replica.raft.follower import fetching
from replica.raft.leader import leading, replication
from replica.raft.log_state import LogState
from replica.simulate import faulty_run, nemesis
from replica.simulate.node import SimulatedMachine
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from tests.replica.simulate.finding import found

WIPES = (nemesis._wipe, nemesis._crash, nemesis._isolate, nemesis._heal)
"""A disk is wiped only while all nodes run: with all faults in few runs."""


def test_half_of_the_voters_that_pass_for_a_majority(monkeypatch):
    monkeypatch.setattr(watermark, "majority", lambda voters: max(1, voters // 2))
    assert found("high watermark", within_seeds=3)


def test_a_vote_that_is_forgotten_with_the_restart(monkeypatch):
    read = QuorumStateFile.read

    def without_vote(self):
        state = read(self)
        return None if state is None else replace(state, voted=None)

    monkeypatch.setattr(QuorumStateFile, "read", without_vote)
    assert found("votes", within_seeds=5)


def test_an_epoch_that_is_used_again_because_quorum_state_is_gone(monkeypatch):
    monkeypatch.setattr(QuorumStateFile, "read", lambda self: None)
    assert found("votes", within_seeds=3)


def test_a_truncation_that_says_it_is_done_and_leaves_the_log(monkeypatch):
    monkeypatch.setattr(FileLog, "truncate_to", lambda self, end_offset: self.log_end)
    assert found("core", within_seeds=6)


def test_a_follower_that_hands_on_what_it_has_before_its_leader_commits_it(monkeypatch):
    monkeypatch.setattr(fetching, "follower_high_watermark", lambda known, leaders, end: end)
    assert found("high watermark", within_seeds=3)


def test_a_leader_that_commits_what_only_its_own_disk_holds(monkeypatch):
    rule = replication.update_high_watermark

    def alone(core):
        role, end = core.leader, core.log.flushed_end
        if end > max(role.epoch_start, role.high_watermark or 0):
            core.keep(replace(role, high_watermark=end))
            core.commit_to(end)
        rule(core)

    for module in (replication, raft):
        monkeypatch.setattr(module, "update_high_watermark", alone)
    assert found("high watermark", within_seeds=3)


def test_a_stale_leader_that_serves_on_because_check_quorum_has_no_deadline(monkeypatch):
    for module in (leading, replication):
        monkeypatch.setattr(module, "check_quorum_deadline", lambda *of: FOREVER)
    # it must be alone for six seconds: with all faults in 1 of 40 runs
    actions = (*(nemesis._isolate_leader,) * 4, nemesis._crash, nemesis._heal)
    monkeypatch.setattr(nemesis, "_ACTIONS", actions)
    assert found("check quorum", within_seeds=5, first=2)


def test_a_leader_that_is_announced_before_its_first_commit(monkeypatch):
    become = core.Core.become

    def hasty(self, cause, role):
        become(self, cause, role)
        if isinstance(role, roles.Leader):
            self.outbox.effects.leader_change = core.LeaderAndEpoch(role.leader_id, role.epoch)

    monkeypatch.setattr(core.Core, "become", hasty)
    assert found("state machine", within_seeds=1)


def test_a_vote_for_everybody_who_asks(monkeypatch):
    monkeypatch.setattr(election, "grants_undecided", lambda *of: True)
    assert found("votes", within_seeds=3)


def test_a_vote_for_a_second_candidate_of_an_epoch(monkeypatch):
    rule = election.grants_undecided

    def forgetful(leader_id, voted, *of):
        return rule(leader_id, None, *of)

    monkeypatch.setattr(election, "grants_undecided", forgetful)
    assert found("votes", within_seeds=6, first=2)


def test_a_vote_for_a_candidate_whose_log_is_older(monkeypatch):
    rule = election.grants_undecided

    def blind(leader_id, voted, candidate, is_log_newer, pre_vote):
        return rule(leader_id, voted, candidate, True, pre_vote)

    monkeypatch.setattr(election, "grants_undecided", blind)
    assert found("votes", within_seeds=3)


def test_a_candidate_that_asks_for_votes_for_a_log_it_has_not_flushed(monkeypatch):
    monkeypatch.setattr(election, "awaits_flush", lambda core: False)
    # a voter must stand within the fifth of a second that a slow flush takes: with all faults in
    # 2 of 40 runs
    actions = (nemesis._slow, *(nemesis._resign,) * 3, nemesis._heal)
    monkeypatch.setattr(nemesis, "_ACTIONS", actions)
    assert found("votes", within_seeds=5, first=2)


def test_a_voter_set_that_stays_in_force_when_its_record_is_truncated(monkeypatch):
    rule = LogState.truncated

    def keeping(self, end_offset):
        return replace(rule(self, end_offset), voter_sets=self.voter_sets)

    monkeypatch.setattr(LogState, "truncated", keeping)
    assert found("voter sets", within_seeds=20, first=7)


def test_a_leader_that_leads_on_after_its_removal_is_committed(monkeypatch):
    rule = replication._end_change

    def staying(core, high_watermark):
        rule(core, high_watermark)
        core.keep(replace(core.leader, resign_requested=False))

    monkeypatch.setattr(replication, "_end_change", staying)
    assert found("check quorum", within_seeds=10, first=1)


def test_a_snapshot_that_names_voters_whose_record_is_not_committed(monkeypatch):
    monkeypatch.setattr(LogState, "voters_at", lambda self, offset: self.voters)
    assert found("snapshots", within_seeds=20)


def test_a_node_with_a_wiped_disk_that_counts_as_the_voter_it_was(monkeypatch):
    by_id = lambda self, key: self.voter(key.node_id)  # noqa: E731
    monkeypatch.setattr(VoterSet, "voter_of", by_id)
    monkeypatch.setattr(VoterSet, "is_voter", lambda self, key: by_id(self, key) is not None)
    monkeypatch.setattr(nemesis, "_ACTIONS", WIPES)
    assert found("high watermark", within_seeds=5, first=3)


def test_an_epoch_that_is_used_again_because_a_wiped_disk_keeps_its_directory_id(monkeypatch):
    monkeypatch.setattr(SimulatedMachine, "_name", lambda self: None)
    monkeypatch.setattr(nemesis, "_ACTIONS", WIPES)
    assert found("votes", within_seeds=5, first=3)


def test_a_wiped_replica_that_takes_its_former_self_for_a_lie(monkeypatch):
    monkeypatch.setattr(core.Core, "may_be_former_self", lambda self, epoch, leader_id: False)
    monkeypatch.setattr(nemesis, "_ACTIONS", WIPES)
    monkeypatch.setattr(faulty_run, "SYNCS_MS", ((),))  # in 1 of 12 runs, and in fewer with others
    assert found("legal messages", within_seeds=5, first=3)


def test_a_leader_that_is_named_before_its_machine_has_the_records_put_off(monkeypatch):
    put_off = Host._without_put_off

    def all_but_leader(self, effects):
        leader = effects.leader_change
        return replace(put_off(self, effects), leader_change=leader)

    monkeypatch.setattr(Host, "_without_put_off", all_but_leader)
    assert found("state machine", within_seeds=10)


def test_a_snapshot_that_is_forgotten_when_more_is_put_off(monkeypatch):
    begin = Host.begin_replay

    def records_alone(self):
        if self._put_off is not None and self._put_off.load_snapshot is not None:
            self._put_off = replace(self._put_off, load_snapshot=None)
        return begin(self)

    monkeypatch.setattr(Host, "begin_replay", records_alone)
    assert found("core", within_seeds=10, first=1)


def test_records_that_a_machine_is_given_though_others_were_put_off(monkeypatch):
    def anew(self, effects):
        """What was put off is forgotten as soon as something small comes."""
        if not self._takes_long(effects):
            self._put_off = None
        return put_off(self, effects)

    put_off = Host._without_put_off
    monkeypatch.setattr(Host, "_without_put_off", anew)
    assert found("core", within_seeds=10)


def test_a_flush_that_is_told_of_what_was_appended_since_it_began(monkeypatch):
    ended = FileLog.end_flush

    def with_the_newest(self, begun):
        ended(self, begun)
        return self.log_end

    monkeypatch.setattr(FileLog, "end_flush", with_the_newest)
    # a leader must crash within a sync, after others have committed: with all faults in few runs
    monkeypatch.setattr(faulty_run, "SYNCS_MS", ((30, 400),))
    monkeypatch.setattr(nemesis, "_ACTIONS", (*(nemesis._crash,) * 2, nemesis._heal))
    assert "lost offsets" in found("committed", within_seeds=5, first=2)
