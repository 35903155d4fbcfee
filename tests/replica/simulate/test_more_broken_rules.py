"""More rules of the engine, broken one at a time as in test_broken_rules: the simulator names the
invariant that each of them breaks, within a few seeds."""

from dataclasses import replace

from replica.history import watermark
from replica.raft import raft
from replica.raft.follower import fetching
from replica.raft.leader import replication
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from tests.replica.simulate.finding import found


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
