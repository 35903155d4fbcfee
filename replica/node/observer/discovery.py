"""Asks the nodes of a cluster about its quorum, before anything is fetched.

Brokers and controllers answer DescribeCluster with the nodes of their own kind (KIP-919). The
leader answers DescribeQuorum; brokers forward this request to the leader. Since version 2 (Kafka
3.9) the answer to DescribeQuorum has the voters' endpoints. A node's ApiVersions show whether it is
a
controller: only controllers serve Vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replica.errors import (
    NoLeaderError,
    UnreachablePeerError,
    UnsupportedByPeerError,
    UsageError,
)
from replica.model.kafka_errors import ErrorCode, error_name
from replica.model.keys import METADATA_TOPIC
from replica.model.voters import Endpoint, Endpoints, Voter, VoterSet, voter_set
from replica.node.listeners import addresses_on
from replica.node.translate.describing import described
from replica.raft.messages import DescribeQuorumResponse
from replica.wire.client import ClientConfig, Connection
from replica.wire.describe_cluster import describe_cluster, is_controller
from replica.wire.describe_quorum import query_quorum
from replica.wire.pool import Address, Pool

DEFAULT_LISTENER = "CONTROLLER"


@dataclass(frozen=True, slots=True)
class QuorumView:
    """What the nodes said about the quorum."""

    cluster_id: str | None
    """The id of the cluster; None if no node permits this client to ask for the id."""
    controllers: tuple[Address, ...]
    """The addresses of the controllers, from which the observer fetches."""
    listener: str = DEFAULT_LISTENER
    """The name of the controllers' listener."""
    node_ids: frozenset[int] = frozenset()
    """The node ids of the registered brokers and controllers that the nodes named."""
    quorum: DescribeQuorumResponse | None = None
    """The leader's description of the quorum; None if the nodes refuse to give this description."""
    voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    """The voters, with their known endpoints."""


async def discover_quorum(bootstrap: Sequence[Address], config: ClientConfig) -> QuorumView:
    """Ask the nodes of `bootstrap`, then the controllers that they name, until the leader has
    answered. Returns what the nodes said about the quorum.

    Raises NoLeaderError if no leader is found; UsageError if the nodes belong to different
    clusters, or if brokers don't give the controllers' endpoints; AuthenticationError if a node
    refuses the login.
    """
    pool = Pool(config)
    try:
        return await _Discovery(pool).run(bootstrap)
    finally:
        await pool.close()


@dataclass(slots=True)
class _Discovery:
    pool: Pool
    cluster_id: str | None = None
    named: dict[int, Address] = field(default_factory=dict)
    """The addresses of the controllers that DescribeCluster named, by node id."""
    listening: Mapping[int, Endpoints] = field(default_factory=dict)
    """The endpoints of the voters that DescribeQuorum named, by node id."""
    controllers: list[Address] = field(default_factory=list)
    node_ids: set[int] = field(default_factory=set)
    quorum: DescribeQuorumResponse | None = None
    denied: bool = False
    troubles: list[str] = field(default_factory=list)

    async def run(self, bootstrap: Sequence[Address]) -> QuorumView:
        for address in bootstrap:
            await self._ask(address)
        for address in tuple(self.named.values()):
            if self.quorum is None and address not in bootstrap:
                await self._ask(address)
        if self.quorum is None and not self.denied:
            why = "; ".join(self.troubles) or "none of the nodes leads"
            raise NoLeaderError(f"no leader of the quorum was found: {why}")
        listener = self._listener()
        endpoints = (each for known in self.listening.values() for each in known)
        listening = addresses_on(listener, endpoints)
        controllers = tuple(dict.fromkeys((*self.controllers, *listening, *self.named.values())))
        if not controllers:
            raise UsageError(
                "--bootstrap: these brokers don't say where the controllers listen (Kafka 3.9 and "
                "newer do): name controllers"
            )
        node_ids, voters = frozenset(self.node_ids), self._voters(listener)
        return QuorumView(self.cluster_id, controllers, listener, node_ids, self.quorum, voters)

    async def _ask(self, address: Address) -> None:
        try:
            connection = await self.pool.connection(address)
            await self._describe_cluster(connection, address)
            if self.quorum is None:
                await self._describe_quorum(connection)
        except (UnreachablePeerError, UnsupportedByPeerError) as error:
            self.troubles.append(str(error))

    async def _describe_cluster(self, connection: Connection, address: Address) -> None:
        controls = is_controller(connection)
        if controls and address not in self.controllers:
            self.controllers.append(address)
        cluster = await describe_cluster(connection, fenced=True)
        if cluster is None:
            return
        if self.cluster_id not in (None, cluster.cluster_id):
            raise UsageError(
                f"--bootstrap: {connection.address} belongs to cluster {cluster.cluster_id}, "
                f"another node to {self.cluster_id}"
            )
        self.cluster_id = cluster.cluster_id
        self.node_ids.update(cluster.nodes)
        if controls:
            self.named.update(cluster.nodes)

    async def _describe_quorum(self, connection: Connection) -> None:
        found = await query_quorum(connection, METADATA_TOPIC)
        if found.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self.denied = True
            return
        if found.error != ErrorCode.NONE:
            self.troubles.append(f"{connection.address}: {error_name(found.error)}")
            return
        if len({voter.key.node_id for voter in found.voters}) < len(found.voters):
            self.troubles.append(f"{connection.address}: DescribeQuorum: names a voter twice")
            return
        self.quorum = described(found)
        self.listening = found.listeners

    def _listener(self) -> str:
        """The name of a listener whose address was reached; if none was reached, the name of the
        first listener that DescribeQuorum named."""
        found = [endpoint for known in self.listening.values() for endpoint in known]
        reached = [each for each in found if (each.host, each.port) in self.controllers]
        return next((each.name for each in (*reached, *found)), DEFAULT_LISTENER)

    def _voters(self, listener: str) -> VoterSet:
        found = []
        for state in () if self.quorum is None else self.quorum.voters:
            endpoints = self.listening.get(state.replica.node_id, ())
            address = self.named.get(state.replica.node_id)
            if not endpoints and address is not None:
                endpoints = (Endpoint(listener, *address),)
            if endpoints:
                found.append(Voter(state.replica, endpoints))
        return voter_set(found)
