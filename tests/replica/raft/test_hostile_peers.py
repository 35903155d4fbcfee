"""Whatever peers send, a replica goes on to answer, and takes back no vote, epoch or commit."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.history.truncation import TruncationBelowHighWatermarkError
from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState
from replica.model.voters import Voter
from replica.raft.dispatch import ClusterAuthorizationError
from replica.raft.inputs import Request, Response
from replica.raft.messages import RESPONSE_OF
from replica.raft.roles import Leader
from tests.examples import examples
from tests.replica.raft.host import (
    Disk,
    Host,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
    voter,
    voters,
)

NUMBERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 4, 5, 9, 2**31 - 1, 2**63 - 1])
KEYS = st.builds(key, st.sampled_from([-1, 1, 2, 3, 4, 9]), st.sampled_from("ab"))
VOTERS = st.builds(Voter, KEYS, st.sampled_from([(), voter(2).endpoints]), NUMBERS, NUMBERS)
IDS = st.builds(OffsetAndEpoch, NUMBERS, NUMBERS)
CONTROL = st.sampled_from([(), (KRaftVersion(1),), (KRaftVoters(voters(1, 2)),)])
BATCHES = st.builds(
    lambda base, size, epoch, control: Batch(base, base + size, epoch, 0, control, b"x"),
    st.integers(0, 6),
    st.integers(0, 3),
    st.integers(0, 9),
    CONTROL,
)

BY_TYPE = {
    "int": NUMBERS,
    "bool": st.booleans(),
    "str": st.just(""),
    "str | None": st.sampled_from([None, "cluster", "other"]),
    "bytes": st.binary(max_size=3),
    "bytes | memoryview": st.binary(max_size=3),
    "int | None": st.none() | NUMBERS,
    "ErrorCode": st.sampled_from(sorted(ErrorCode, key=lambda error: error.name)),
    "Endpoints": st.sampled_from([(), voter(2).endpoints]),
    "ReplicaKey": KEYS,
    "ReplicaKey | None": st.none() | KEYS,
    "tuple[ReplicaKey, ...]": st.lists(KEYS, max_size=3).map(tuple),
    "Voter": VOTERS,
    "OffsetAndEpoch | None": st.none() | IDS,
    "OffsetAndEpoch": IDS,
    "tuple[Batch, ...]": st.lists(BATCHES, max_size=3).map(tuple),
    "tuple[ReplicaState, ...]": st.just(()),
}


def messages(kind):
    return st.builds(kind, **{field.name: BY_TYPE[field.type] for field in fields(kind)})


REQUESTS = st.one_of(*(messages(kind) for kind in RESPONSE_OF))
ANSWERS = {kind: messages(answer) for kind, answer in RESPONSE_OF.items()}


def leader():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    host.propose(b"a", b"b")
    fetch(host, 2, host.disk.log_end)
    return host


def follower():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=3)
    return host


def standing():
    return Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=key(1))))


ROLES = {
    "leader": leader,
    "follower": follower,
    "candidate": standing,
    "unattached": lambda: Host(config(1, 1, 2, 3, bootstrap_ids=(-2,))),
    "observer": lambda: Host(config(9, 1, 2, 3, bootstrap_ids=(-2,))),
    "without id": lambda: Host(config(9, 1, 2, 3, local=None, bootstrap_ids=(-2,))),
}


def current(data, host, message):
    """Half of all messages name the epoch and leader that the replica believes in, so that they
    get past the first checks."""
    if data.draw(st.booleans()):
        known = {
            "cluster_id": None,
            "epoch": host.raft.role.epoch,
            "leader_id": host.raft.role.leader_id,
            "error": ErrorCode.NONE,
        }
        names = {field.name for field in fields(message)}
        return replace(message, **{n: v for n, v in known.items() if n in names})
    return message


def promises(host):
    """What a replica must never take back: its epoch, its vote in it, what it knows as
    committed."""
    return host.raft.role.epoch, host.raft.role.voted, host.raft.high_watermark


def assert_kept(before, host):
    epoch, voted, _ = promises(host)
    assert epoch >= before[0]
    if epoch == before[0] and before[1] is not None:
        assert voted in (before[1], None)
    assert host.raft.role.epoch == host.disk.state.epoch
    assert host.raft.log.log_end == host.disk.log_end
    assert host.raft.log.log_end >= 0


@pytest.mark.parametrize("name", ROLES)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_requests_are_answered(name, data):
    host = ROLES[name]()
    for number, request in enumerate(data.draw(st.lists(REQUESTS, min_size=1, max_size=6))):
        before = promises(host)
        host.step(Request(number, current(data, host, request)))
        assert_kept(before, host)
        host.after(1)
    host.after(1000)
    waiting = {fetch.request_id for fetch in host.raft._core.work.parked}
    if isinstance(host.raft.role, Leader) and host.raft.role.change is not None:
        waiting.add(host.raft.role.change.request_id)
    assert set(host.replies) | waiting == set(range(number + 1))


@pytest.mark.parametrize("name", ROLES)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_a_replica_survives_any_answers(name, data):
    host = ROLES[name]()
    for _ in range(5):
        host.after(100)
        if not host.sends:
            continue
        send = data.draw(st.sampled_from(host.sends))
        host.sends.clear()
        before = promises(host)
        answer = current(data, host, data.draw(ANSWERS[type(send.message)]))
        try:
            host.step(Response(send.node_id, send.correlation_id, answer))
        except (ClusterAuthorizationError, TruncationBelowHighWatermarkError):
            return
        assert_kept(before, host)
    host.after(1000)
