"""Kraftlake voters in one quorum with Kafka's: whoever leads, and however they die, the committed
logs are the same bytes on all nodes."""

import os
import random
from collections import Counter

import pytest

from replica.format.segment import scan
from tests.interop.mixed_quorum import MixedQuorum

ROUNDS = int(os.environ.get("KRAFTLAKE_MIXED_ROUNDS", "3"))


def holding(quorum, end_offset):
    """How many voters hold the same bytes below an offset; who died may have an old tail there."""
    prefixes = Counter(prefix(voter.log, end_offset) for voter in quorum.voters.values())
    prefixes.pop(None, None)
    return max(prefixes.values(), default=0)


def prefix(data, end_offset):
    """The batches of a log below an offset; None where none ends there."""
    batches = scan(data).batches
    last = next((b for b in batches if b.header.next_offset == end_offset), None)
    return None if last is None else data[: last.position + last.header.size_bytes]


@pytest.mark.slow
@pytest.mark.parametrize("kraftlake", [1, 2, 3])
def test_a_mixed_quorum_survives_kills_with_the_same_committed_bytes(tmp_path, kraftlake):
    choice = random.Random(kraftlake)
    leaders = set()
    with MixedQuorum(tmp_path, kraftlake) as quorum:
        epoch, committed = 0, 0
        for _ in range(ROUNDS):
            leader = quorum.leader(epoch)
            leaders.add(leader.kind)
            committed = quorum.wait_for_commits(committed)
            victim = leader if choice.random() < 0.7 else choice.choice([*quorum.voters.values()])
            epoch = leader.election[0] if victim is leader else epoch
            victim.kill()
            assert holding(quorum, committed) >= 2
            if any(v.kind == "kraftlake" and v.process for v in quorum.voters.values()):
                quorum.leader(epoch)
                committed = quorum.wait_for_commits(committed)
            victim.start()
            quorum.leader(epoch)
            committed = quorum.wait_for_commits(committed)
        quorum.wait_until(lambda: holding(quorum, committed) == 3, "a log lacks what is committed")
    assert leaders
