"""Kraftlake voters in one quorum with Kafka's: whoever leads, and however they die, the committed
logs are the same bytes on all nodes. mixed_rounds.py does the same for as long as you like."""

import random

import pytest

from tests.interop.matrix import hold
from tests.interop.mixed_quorum import KAFKAS, OURS, MixedQuorum
from tests.interop.mixed_rounds import Rounds

ROUNDS, MOST_ROUNDS = 3, 20


def survive(quorum, kinds):
    """Rounds until each of the kinds has led."""
    rounds = Rounds(quorum, random.Random(2))
    while rounds.number < ROUNDS or kinds - rounds.led.keys():
        assert rounds.number < MOST_ROUNDS, f"only {dict(rounds.led)} led\n{quorum.outputs()}"
        rounds.round(overthrow=rounds.number >= ROUNDS)
    rounds.judge()
    assert rounds.committed > 0
    assert rounds.killed.total() == rounds.number


@pytest.mark.slow
@pytest.mark.parametrize("kraftlake", [1, 2])
def test_a_mixed_quorum_survives_kills_with_the_same_committed_bytes(
    tmp_path, kafka_version, kraftlake
):
    with MixedQuorum(tmp_path, kraftlake, kafka_version) as quorum:
        survive(quorum, {OURS, KAFKAS})
    hold(kafka_version, "mixed", "2+1 and 1+2, both kinds led")


@pytest.mark.slow
def test_so_does_one_of_kraftlake_alone(tmp_path):
    with MixedQuorum(tmp_path, 3) as quorum:
        survive(quorum, {OURS})
