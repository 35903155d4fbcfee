"""How far each replica of a group is."""

from hypothesis import given

from replica.doctor.quorum.branch import agreed_branch
from replica.doctor.quorum.progress import CommittedProgress, progress_of
from replica.history.commitment import classify_compared, compare_group
from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import OffsetAndEpoch
from tests.replica.history.test_commitment import KEYS, replica
from tests.replica.history.test_random_histories import QUICK, SEEDS, entries_of, model_of


def progress(*logs: ReplicaLog) -> dict[int, CommittedProgress]:
    group = compare_group(logs)
    commitment = classify_compared(group)
    found = progress_of(group, commitment, agreed_branch(group, commitment))
    return {key.node_id: each for key, each in found.items()}


def test_a_majority_bounds_the_high_watermark_and_names_its_holders():
    found = progress(replica(1, 1, 1, 2, 2), replica(2, 1, 1, 2), replica(3, 1))
    assert {node: each.high_watermark for node, each in found.items()} == {1: 3, 2: 3, 3: 1}
    assert found[1].proof is not None
    assert found[1].proof.holders == frozenset({KEYS[1], KEYS[2]})
    assert (found[1].proof.offset, found[1].proof.epoch) == (2, 2)


def test_a_replica_behind_is_told_by_the_proof_of_another_log():
    """Both others know epoch 2, so no majority stands for the entry of epoch 1 in its own log."""
    found = progress(replica(1, 1, 1, 2), replica(2, 1, 1, 2), replica(3, 1, quorum=1))
    assert found[3].high_watermark == 1
    assert found[3].proof is not None
    assert found[3].proof.holders == frozenset({KEYS[1], KEYS[2]})
    assert (found[3].agreed_end, found[3].own_records) == (1, 0)


def test_nothing_is_claimed_where_nothing_is_proven():
    (found,) = progress(replica(1, 1, 1)).values()
    assert (found.high_watermark, found.proof) == (None, None)
    assert (found.agreed_end, found.own_records) == (2, 0)


def test_a_snapshot_proves_what_it_replaced():
    found = progress(replica(1, start=9, snapshots=[(0, 0), (9, 2)]))[1]
    assert (found.high_watermark, found.agreed_end) == (9, 9)
    assert found.proof is not None
    assert found.proof.snapshot_id == OffsetAndEpoch(9, 2)


def test_the_bootstrap_snapshot_proves_nothing():
    assert progress(replica(1, snapshots=[(0, 0)]))[1].high_watermark is None


def test_records_beside_the_agreed_branch_are_the_replicas_own():
    elected = (1, 1, 2, 2, 2)
    found = progress(replica(1, *elected), replica(2, 1, 1, 1, 1), replica(3, *elected))
    assert (found[2].agreed_end, found[2].own_records) == (2, 2)
    assert found[2].high_watermark == 2
    assert (found[1].agreed_end, found[1].own_records) == (5, 0)


def test_a_log_that_shares_no_entry_with_the_branch_agrees_up_to_its_start():
    other = ReplicaLog(KEYS[2], 0, (LogBatch(0, 4, 1, "other"),), (), 1)
    found = progress(replica(1, 1, 1, 2), other)
    assert (found[2].agreed_end, found[2].own_records) == (0, 5)


@QUICK
@given(SEEDS)
def test_no_later_leader_lacks_what_lies_below_a_high_watermark(seed):
    model = model_of(seed)
    logs = [model.capture(node) for node in model.nodes.values()]
    whole = {key: [entry.batch for entry in node.log] for key, node in model.nodes.items()}
    group = compare_group(logs)
    commitment = classify_compared(group)
    found = progress_of(group, commitment, agreed_branch(group, commitment))
    newest = max(log.known_epoch for log in logs if log.known_epoch is not None)
    already = len(model.elected)
    model.run(80)
    for leader in model.elected[already:]:
        if leader.epoch <= newest:
            continue
        for key, progress in found.items():
            end = progress.high_watermark or 0
            committed = [batch for batch in whole[key] if batch.last_offset < end]
            assert [entry.batch for entry in leader.log[: len(committed)]] == committed


@QUICK
@given(SEEDS)
def test_a_replica_holds_the_branch_up_to_its_agreed_end_and_none_of_it_beyond(seed):
    model = model_of(seed)
    logs = {node.key: model.capture(node) for node in model.nodes.values()}
    group = compare_group(list(logs.values()))
    commitment = classify_compared(group)
    parts = agreed_branch(group, commitment)
    branch = {
        offset: entry
        for part in parts
        for offset, entry in entries_of(logs[part.key]).items()
        if part.start <= offset < part.end
    }
    for key, progress in progress_of(group, commitment, parts).items():
        held = entries_of(logs[key])
        beyond = {offset for offset in held if offset >= progress.agreed_end}
        assert len(beyond) == progress.own_records
        assert all(branch.get(offset) != held[offset] for offset in beyond)
        shared = [offset for offset in held if offset in branch and offset not in beyond]
        assert all(branch[offset] == held[offset] for offset in shared)
