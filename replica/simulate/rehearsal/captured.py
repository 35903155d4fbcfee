"""A captured quorum: what the disks of its nodes hold, and what nobody captured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replica.history.commitment import Commitment
from replica.history.log import ReplicaLog, contiguous_runs
from replica.history.ranges import Ranges
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Endpoints, VoterSet, voter_set, without_directories
from replica.simulate.node_files import Files


@dataclass(frozen=True, slots=True)
class CapturedNode:
    """files: by their paths in the node's log directory, the partition's folder named as Kafka
    names it. log: the same log as a value."""

    key: ReplicaKey
    files: Files
    log: ReplicaLog


@dataclass(frozen=True, slots=True)
class CapturedQuorum:
    """nodes: by their ids. voters: in force at the end of the newest log; is_static: they are those
    of the nodes' configuration (kraft.version 0). commitment: of what the logs hold.
    newest_timestamp: of all records, in ms."""

    cluster_id: str
    nodes: Mapping[int, CapturedNode]
    voters: VoterSet
    is_static: bool
    commitment: Commitment
    newest_timestamp: int

    @property
    def end_offset(self) -> int:
        """Of the longest log (exclusive)."""
        return max(node.log.end_offset for node in self.nodes.values())

    def held(self, node_id: int) -> Ranges:
        """The offsets that a node's captured log holds."""
        return contiguous_runs(self.nodes[node_id].log.batches)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Of all nodes: those captured, and voters that nobody captured."""
        return tuple(sorted({*self.nodes, *self.voters.ids}))

    @property
    def not_captured(self) -> tuple[int, ...]:
        """The voters without a directory, ascending; also those whose directory is of another
        disk, which votes for nothing."""
        captured = [node.key for node in self.nodes.values()]
        return tuple(
            voter.key.node_id
            for voter in self.voters
            if not any(voter.matches(key) for key in captured)
        )

    @property
    def static_voters(self) -> VoterSet:
        """As the nodes' configuration has them; empty where the log names the voters. Their
        addresses are in no log: names of the rehearsal's own network stand for them."""
        if not self.is_static:
            return VoterSet()
        named = (replace(voter, endpoints=endpoints_of(voter.key)) for voter in self.voters)
        return without_directories(voter_set(named))


def endpoints_of(key: ReplicaKey) -> Endpoints:
    """Where a node listens whose address nothing tells: nobody follows a leader without one."""
    return (Endpoint("CONTROLLER", f"node{key.node_id}", 9093),)
