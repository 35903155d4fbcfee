"""A leader's own log lacks records that it wrote."""

from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.lacks_own import lacks_own
from replica.doctor.quorum.log_ends import COPYING_MS, LogEnd
from tests.replica.doctor.quorum.test_known_quorum import ONE, THREE, TWO, doubts, known, log


def end(key, end, at_ms, *, epoch=3, is_leader=False):
    return LogEnd(key, epoch, end, at_ms, is_leader)


def test_a_leader_whose_followers_hold_more_of_its_epoch_lacks_its_own_records():
    found = lacks_own([end(ONE, 50, 1000, is_leader=True), end(TWO, 92, 1000 + COPYING_MS)])
    assert list(found) == [ONE]
    assert (found[ONE].end, found[ONE].others_end, found[ONE].lacking_ms) == (50, 92, COPYING_MS)
    assert str(found[ONE]).endswith("up to offset 91, 10.0 s later")


def test_copies_that_were_made_one_after_the_other_are_no_such_case():
    a_moment_later = end(TWO, 92, 1000 + COPYING_MS - 1)
    assert lacks_own([end(ONE, 50, 1000, is_leader=True), a_moment_later]) == {}


def test_a_follower_and_a_leader_of_an_older_epoch_may_lack_records():
    long_after = 1000 + 10 * COPYING_MS
    assert lacks_own([end(ONE, 50, 1000), end(TWO, 92, long_after, is_leader=True)]) == {}
    older = end(ONE, 50, 1000, epoch=2, is_leader=True)
    assert lacks_own([older, end(TWO, 92, long_after)]) == {}


def test_such_a_voter_counts_for_no_majority_unless_the_logs_conflict():
    files = QuorumFiles(lacks_own=lacks_own([end(ONE, 1, 0, is_leader=True), end(TWO, 2, 99_999)]))
    quorum = known(log(ONE, 3), log(TWO, 3, 3), log(THREE, 3, 3), files=files)
    assert doubts(quorum) == {1: VoterDoubt.STALE, 2: None, 3: None}
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert stale.why_stale.startswith("it led epoch 3, and its own log goes up to offset 0")
