"""A short form of the kills in every run; RESULTS.md has the long ones."""

from random import Random

import pytest

from replica.format.whole_batch import value_batch
from tests.fuzz.quorum_kills import RESULTS, QuorumKills, appended_in, with_row
from tests.interop.mixed_quorum import MixedQuorum


def test_acknowledged_records_survive_the_kill_of_any_replica_and_are_in_the_log_once(tmp_path):
    with MixedQuorum(tmp_path, kraftlake=3) as quorum:
        kills = QuorumKills(quorum, Random(3))
        appending = kills.run(kills=4)
    assert kills.killed.keys() == {"leader", "follower"}
    assert len(appending.acknowledged) > 4


def test_records_that_are_there_twice_are_seen():
    once = value_batch(0, 1, 0, [b"record 1", b"load", b"record 2"])
    again = value_batch(3, 1, 0, [b"record 1"])
    assert appended_in(once + again) == {b"record 1": [0, 3], b"record 2": [2]}


def test_a_damaged_log_is_no_log():
    with pytest.raises(AssertionError):
        appended_in(value_batch(0, 1, 0, [b"record 1"]) + b"x" * 100)


def test_a_result_goes_to_the_end_of_its_table():
    written = with_row(RESULTS.read_text(), "| a day | some |\n")
    assert " | none |\n| a day | some |\n\n## A replica under attack" in written
