"""Quorums of Kafka's controllers alone, recorded while ways between them are cut, leaders end, and
voters leave and join. They also get requests that no healthy quorum has (probes.py)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from replica.format.meta_properties import decode
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint, Voter
from replica.raft.messages import DescribeQuorumRequest, PeerRequest, UpdateFeaturesRequest
from tests.interop.appending_clients import appending
from tests.interop.conformance.exchanges import PARTITION, Replica, save
from tests.interop.conformance.probes import Target, ask, features, harmless, lasting
from tests.interop.conformance.recorder import Recorder
from tests.interop.kafka_node import LISTENER, Controller, run_tool
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.interop.mixed_quorum import KAFKAS
from tests.interop.partition_rounds import Rounds, between
from tests.interop.partitioned_quorum import WITHIN_S, Node, PartitionedQuorum, partitioned

_SETTINGS = {"metadata.log.max.record.bytes.between.snapshots": 5_000}
"""Small values, so that a restarted node fetches a snapshot."""
_BOOTSTRAP = "00000000000000000000-0000000000.checkpoint"
_STARTS = 10
"""The most starts of a process that may end itself."""
_HEARS_WITHIN_S = 15.0
"""The seconds for which a new leader is asked while a voter is away."""
_ENDS_WITHIN_S = 5.0
"""The seconds within which a process of Kafka has ended, where a request ends it."""


@dataclass(frozen=True, slots=True)
class Voters:
    """The number of voters of a quorum. are_static: whether controller.quorum.voters names them
    (kraft.version 0)."""

    count: int
    are_static: bool = False


def record_faults(folder: Path, trace: Path, voters: Voters, seeds: range, within_s: float) -> int:
    """Records a quorum in rounds of faults (partition_rounds). Then its leader ends in order,
    static voters become dynamic voters, and a voter moves. Writes the trace, and gives the number
    of rounds."""
    began, rounds_done = time.monotonic(), 0
    with _recorded(folder, trace, voters) as (quorum, recorder):
        with appending(quorum, seeds[0]) as clients:
            rounds = Rounds(quorum, clients)
            for seed in seeds:
                rounds.round(seed)
                rounds_done = rounds.number
                print(f"seed {seed}: {len(recorder.kept())} requests", flush=True)  # noqa: T201
                if time.monotonic() - began > within_s:
                    break
        _end_leader_in_order(quorum)
        if voters.are_static:
            _make_dynamic(quorum)
        _move_a_voter(quorum)
    return rounds_done


def record_probes(folder: Path, trace: Path, voters: Voters) -> None:
    """Sends all questions to the leader and to a follower. Afterwards no other node reaches the
    follower: then sends it the requests that change its state."""
    with _recorded(folder, trace, voters) as (quorum, _):
        leader = quorum.newest_election()[1]
        follower = next(n for n in quorum.nodes if n != leader)
        for node_id in (leader, follower):
            _ask_all(quorum, node_id, harmless)
        _lose_log(quorum, follower)
        requests = tuple(lasting(_target(quorum, follower)))
        assert quorum.proxies is not None
        quorum.proxies.faults.cut = between([follower], [n for n in quorum.nodes if n != follower])
        for request in requests:
            if not _ask(quorum, quorum.nodes[follower], request):
                _wait_for_answers(quorum.nodes[follower])


def record_features(folder: Path, trace: Path, voters: Voters) -> None:
    """Sends requests about kraft.version with static voters: to the leader and a follower, to a new
    leader that hasn't heard of all voters yet, and again once the voters are dynamic."""
    with _recorded(folder, trace, voters) as (quorum, _):
        _ask_about_features(quorum)
        epoch, leader_id = quorum.newest_election()
        quorum.nodes[leader_id].kill()
        to_one = UpdateFeaturesRequest(kraft_version=1, validate_only=True)
        until = time.monotonic() + _HEARS_WITHIN_S
        while time.monotonic() < until:
            newer, leads = quorum.newest_election()
            if newer > epoch and leads not in (NO_NODE, leader_id):
                ask(quorum.nodes[leads].advertised, to_one)
            time.sleep(0.3)
        quorum.start_again(quorum.nodes[leader_id])
        quorum.wait_for_all()
        _make_dynamic(quorum)
        _ask_about_features(quorum)


def _ask_about_features(quorum: PartitionedQuorum) -> None:
    leader_id = quorum.newest_election()[1]
    follower = next(each for each in quorum.nodes if each != leader_id)
    for node_id in (leader_id, follower):
        for request in features():
            ask(quorum.nodes[node_id].advertised, request)


def _lose_log(quorum: PartitionedQuorum, node_id: int) -> None:
    """Starts a node with an empty log, which fetches a snapshot. The node keeps its epoch and
    forgets its vote: Kafka doesn't start where the vote is for a node that its log doesn't name as
    a voter. The process ends itself where it first asks the leader in its quorum-state."""
    node = quorum.nodes[node_id]
    node.kill()
    for path in node.partition.iterdir():
        if path.name not in ("quorum-state", "partition.metadata", _BOOTSTRAP):
            path.unlink()
    state = node.partition / "quorum-state"
    fields = json.loads(state.read_text())
    nobody = {"votedId": NO_NODE, "votedDirectoryId": ZERO_UUID}
    forgotten = {name: value for name, value in nobody.items() if name in fields}
    state.write_text(json.dumps(fields | forgotten))
    for _ in range(_STARTS):
        quorum.start_again(node)
        if not _has_ended(node):
            break
    quorum.wait_for_all()


def _ask_all(
    quorum: PartitionedQuorum, node_id: int, probes: Callable[[Target], Iterator[PeerRequest]]
) -> None:
    """Sends the requests one after the other. Some end Kafka's process; it starts again, and gets
    the next request."""
    node, at = quorum.nodes[node_id], 0
    requests = tuple(probes(_target(quorum, node_id)))
    while at < len(requests):
        at += 1
        if not _ask(quorum, node, requests[at - 1]):
            requests = tuple(probes(_target(quorum, node_id)))


def _ask(quorum: PartitionedQuorum, node: Node, request: PeerRequest) -> bool:
    """Sends a request. Gives False where the request has ended the process, which starts again."""
    if ask(node.advertised, request) or not _has_ended(node):
        return True
    print(f"node {node.node_id} was ended by {request}", flush=True)  # noqa: T201
    quorum.start_again(node)
    return False


def _wait_for_answers(node: Node) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not ask(node.advertised, DescribeQuorumRequest()):
        assert time.monotonic() < deadline, f"no answer\n{node.said}"
        time.sleep(0.2)


def _has_ended(node: Node) -> bool:
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while node.is_running and time.monotonic() < deadline:
        time.sleep(0.1)
    return not node.is_running


@contextmanager
def _recorded(
    folder: Path, trace: Path, voters: Voters
) -> Iterator[tuple[PartitionedQuorum, Recorder]]:
    recorder, kinds, is_static = Recorder(), (KAFKAS,) * voters.count, voters.are_static
    with partitioned(folder, kinds, recorder.watch, _SETTINGS, is_static=is_static) as quorum:
        quorum.hear_start = recorder.started
        replicas = {
            node_id: _replica(quorum, node_id, () if is_static or node_id != 1 else (1,))
            for node_id in quorum.nodes
        }
        try:
            yield quorum, recorder
        finally:
            kept = recorder.kept()
            save(trace, CLUSTER_ID, replicas, kept, recorder.starts, is_static=is_static)


def _replica(
    quorum: PartitionedQuorum, node_id: int, first_voters: tuple[int, ...] = ()
) -> Replica:
    node = quorum.nodes[node_id]
    meta = decode((node.process.log_dir / "meta.properties").read_bytes())
    key = ReplicaKey(node_id, str(meta.directory_id))
    where = Endpoint(PARTITION.listener, "127.0.0.1", node.advertised)
    return Replica(key, where, first_voters)


def _target(quorum: PartitionedQuorum, node_id: int) -> Target:
    end = quorum.wait_for_all()
    epoch, leader_id = quorum.newest_election()
    voters = {
        each: Voter(found.key, (found.endpoint,))
        for each in quorum.nodes
        for found in (_replica(quorum, each),)
    }
    peer = next(each for each in quorum.nodes if each not in (node_id, leader_id))
    return Target(CLUSTER_ID, voters[node_id], voters[leader_id], voters[peer], epoch, end, epoch)


def _end_leader_in_order(quorum: PartitionedQuorum) -> None:
    """Ends the leader by SIGTERM, so that it tells the others (EndQuorumEpoch). Then it starts
    again."""
    epoch, leader_id = quorum.newest_election()
    node = quorum.nodes[leader_id]
    assert isinstance(node.process, Controller)
    node.process.stop()
    deadline = time.monotonic() + 60
    while quorum.newest_election()[0] <= epoch and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3.0)
    quorum.start_again(node)
    quorum.wait_for_all()


def _make_dynamic(quorum: PartitionedQuorum) -> None:
    """Lets the leader write the voters into the log (kafka-features upgrade, KIP-853)."""
    where = ("--bootstrap-controller", f"127.0.0.1:{quorum.nodes[1].advertised}")
    to = ("upgrade", "--feature", "kraft.version=1")
    deadline = time.monotonic() + WITHIN_S
    while (ran := run_tool("org.apache.kafka.tools.FeatureCommand", *where, *to)).returncode:
        # a new leader learns the versions that the voters support from their next UpdateRaftVoter
        assert time.monotonic() < deadline, ran.stdout + ran.stderr
    quorum.wait_for_all()


def _move_a_voter(quorum: PartitionedQuorum) -> None:
    """Restarts a voter that advertises another name of the same address, and tells its leader
    (UpdateRaftVoter)."""
    leader_id = quorum.newest_election()[1]
    node = quorum.nodes[next(each for each in quorum.nodes if each not in (1, leader_id))]
    process = node.process
    assert isinstance(process, Controller)
    process.kill()
    old = f"advertised.listeners={LISTENER}://127.0.0.1"
    text = process.properties.read_text()
    process.properties.write_text(text.replace(old, f"advertised.listeners={LISTENER}://localhost"))
    quorum.start_again(node)
    time.sleep(10.0)
    quorum.wait_for_all()
