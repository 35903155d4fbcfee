"""Random Raft runs: the protocol finds the divergence, and nothing called proven is ever lost."""

import random
from dataclasses import replace
from itertools import combinations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from replica.history.commitment import Commitment, EntryCommitment, classify
from replica.history.divergence import Relation
from replica.history.log import ReplicaLog
from replica.history.truncation import draft_fetch_rounds, fetch_rounds
from replica.model.keys import ReplicaKey
from tests.examples import examples
from tests.replica.history.pairs import diverge
from tests.replica.history.raft_model import Elected, RaftModel

SEEDS = st.integers(0, 2**32)
QUICK = settings(
    max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)


def model_of(seed: int) -> RaftModel:
    shape = random.Random(seed)
    voters = shape.choice([1, 2, 3, 3, 3, 4, 5])
    model = RaftModel(seed, voters, shape.choice([0, 1, 2]), dynamic=shape.random() < 0.7)
    model.run(shape.randint(5, 150))
    return model


def entries_of(log: ReplicaLog) -> dict[int, tuple[int, object]]:
    """Offset -> (epoch, bytes)."""
    return {
        offset: (batch.epoch, (batch.base_offset, batch.last_offset, batch.digest))
        for batch in log.batches
        for offset in range(batch.base_offset, batch.last_offset + 1)
    }


@QUICK
@given(SEEDS)
def test_divergence_equals_a_comparison_offset_by_offset(seed):
    model = model_of(seed)
    for a, b in combinations([model.capture(node) for node in model.nodes.values()], 2):
        mine, theirs = entries_of(a), entries_of(b)
        differing = [o for o in sorted(mine.keys() & theirs.keys()) if mine[o] != theirs[o]]
        found = diverge(a, b)
        assert found.divergence_offset == (differing[0] if differing else None)
        if differing:
            assert found.relation is Relation.DIVERGED, "Raft leaves no conflict"
            lost = mine if found.truncating == a.key else theirs
            assert found.records_lost == sum(offset >= differing[0] for offset in lost)
            assert found.truncation_offset == differing[0]


@QUICK
@given(SEEDS)
def test_fetch_and_truncate_to_the_end_finds_the_first_different_offset(seed):
    """By the released protocol and by the draft, whole logs, either replica as the leader."""
    model = model_of(seed)
    for node in model.nodes.values():
        node.trimmed, node.snapshots = 0, []
    for a, b in combinations([model.capture(node) for node in model.nodes.values()], 2):
        leader, follower = (a, b) if diverge(a, b).truncating == b.key else (b, a)
        mine, theirs = entries_of(leader), entries_of(follower)
        common = mine.keys() & theirs.keys()
        differing = [o for o in sorted(common) if mine[o] != theirs[o]]
        if differing or len(mine) >= len(theirs):
            expected = differing[0] if differing else follower.end_offset
            assert fetch_rounds(leader, follower).truncation_offset == expected
            assert draft_fetch_rounds(leader, follower).truncation_offset == expected


@QUICK
@given(SEEDS, st.booleans())
def test_no_later_leader_lacks_what_was_called_proven(seed, skewed):
    """Any subset of replicas, read at one moment or one after another while the quorum runs on."""
    model = model_of(seed)
    chosen = random.Random(seed + 1)
    keys = sorted(model.nodes)
    logs: dict[ReplicaKey, ReplicaLog] = {}
    whole = {}
    for key in chosen.sample(keys, chosen.randint(1, len(keys))):
        if skewed:
            model.run(chosen.randint(0, 6))
        logs[key] = model.capture(model.nodes[key])
        whole[key] = [entry.batch for entry in model.nodes[key].log]
    commitment = classify(list(logs.values()))
    already = len(model.elected)
    model.run(80)
    assert commitment.contested == ()
    newest = max(log.known_epoch for log in logs.values() if log.known_epoch is not None)
    for proof in commitment.proofs:
        proven = [batch for batch in whole[proof.key] if batch.last_offset <= proof.offset]
        for leader in model.elected:
            if leader.epoch > (proof.epoch if proof.holders else newest):
                assert [entry.batch for entry in leader.log[: len(proven)]] == proven
    later = [leader for leader in model.elected[already:] if leader.epoch > newest]
    check_verdicts(logs, commitment, later)


def check_verdicts(
    logs: dict[ReplicaKey, ReplicaLog], commitment: Commitment, later: list[Elected]
) -> None:
    for leader in later:
        held = {entry.batch for entry in leader.log}
        for key, log in logs.items():
            for batch in log.batches:
                verdict = commitment.verdict_at(key, batch.base_offset)
                assert verdict is not EntryCommitment.PROVEN or batch in held
                assert verdict is not EntryCommitment.SUPERSEDED or batch not in held


@QUICK
@given(SEEDS)
def test_records_committed_by_a_leader_are_proven_when_all_logs_are_given(seed):
    model = model_of(seed)
    for _ in range(200):
        if any(model.elect(node) for node in model.nodes.values()):
            break
    leaders = [node for node in model.nodes.values() if node.leading]
    # A leader that removed itself and died before that committed can leave nobody electable.
    assume(leaders)
    leader = max(leaders, key=lambda node: node.epoch)
    for node in model.nodes.values():
        model.replicate(leader, node, count=len(leader.log))
    model.advance(leader)
    # A candidate that raised its epoch above this leader's doesn't listen to it any more.
    assume(all(node.epoch == leader.epoch for node in model.nodes.values()))
    assert leader.committed == len(leader.log)
    commitment = classify([model.capture(node) for node in model.nodes.values()])
    assert all(
        held.verdict is EntryCommitment.PROVEN
        for ranges in commitment.verdicts.values()
        for held in ranges
    )


def test_the_random_runs_do_reach_what_they_are_meant_to_reach():
    """Else the properties above would hold for want of elections, tails and voter changes."""
    diverged = superseded = changed = proofs = by_leaders = 0
    for seed in range(400):
        model = model_of(seed)
        logs = [model.capture(node) for node in model.nodes.values()]
        commitment = classify(logs)
        diverged += sum(
            diverge(a, b).relation is Relation.DIVERGED for a, b in combinations(logs, 2)
        )
        superseded += sum(bool(commitment.ranges(g.key, EntryCommitment.SUPERSEDED)) for g in logs)
        changed += any(len(log.voter_sets) > 1 for log in logs)
        proofs += sum(bool(proof.holders) for proof in commitment.proofs)
        by_leaders += commitment.proofs != without_leaders(logs).proofs
    assert min(diverged, superseded, changed, proofs, by_leaders) >= 5


def without_leaders(logs: list[ReplicaLog]) -> Commitment:
    """The commitment if nobody knew who led which epoch."""
    return classify([replace(log, led_epochs=frozenset()) for log in logs])
