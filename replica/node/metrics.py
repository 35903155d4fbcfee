"""A node's metrics in Prometheus' format, over HTTP.

The names follow Kafka's own (group raft-metrics of KafkaRaftMetrics), with units as Prometheus has
them. Values are read in the node's loop when somebody asks for them, so all of one answer belong to
the same moment; a node that hangs gives no answer, which is what an alert is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from replica.errors import UsageError
from replica.node.driver import Driver
from replica.node.http_server import HttpServer
from replica.node.serve.dispatch import Dispatch
from replica.node.serve.partition import ServedPartition
from replica.raft.roles import Leader
from replica.raft.transitions import ROLES
from replica.wire.server import Server

LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Sources:
    """What is measured. servers: by listener name; it may grow."""

    driver: Driver
    dispatch: Dispatch
    partition: ServedPartition
    servers: dict[str, Server]


class Metrics:
    """Made in the node's loop, where it listens from `serve` until `close`."""

    def __init__(self, sources: Sources) -> None:
        self._registry = CollectorRegistry()
        self._latency = Histogram(
            "kraftlake_raft_append_latency_seconds",
            "From an append at this leader to its commit",
            buckets=LATENCY_BUCKETS_S,
            registry=self._registry,
        )
        sources.driver.on_commit = self._latency.observe
        ProcessCollector(registry=self._registry)
        self._registry.register(_Collector(sources))
        self._server = HttpServer(self._page)

    async def serve(self, host: str, port: int) -> int:
        """Listen; returns the port, which port 0 lets the system choose. Raises UsageError where
        the address can't be had."""
        try:
            return await self._server.start(host, port)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"kraftlake.metrics.listener: {host}:{port}: {why}") from error

    async def close(self) -> None:
        """Listen no more."""
        await self._server.close()

    def _page(self, accepted: str) -> tuple[str, bytes]:
        encode, kind = choose_encoder(accepted)
        return kind, encode(self._registry)


class _Collector:
    """Asked by the registry when somebody scrapes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry would collect to learn the names, before there is an answer."""
        return ()

    def collect(self) -> Iterable[Metric]:
        return _metrics(self._sources)


def _metrics(sources: Sources) -> Iterator[Metric]:
    yield from _raft(sources.driver)
    yield from _log(sources.driver)
    role = sources.driver.raft.role
    if isinstance(role, Leader):
        yield _lag(sources.driver, role)
    yield from _requests(sources)


def _raft(driver: Driver) -> Iterator[Metric]:
    raft = driver.raft
    role, voters = raft.role, raft.log.voters
    local = driver.config.local
    state = GaugeMetricFamily(
        "kraftlake_raft_state", "1 for the role that the replica has", labels=["state"]
    )
    for kind in ROLES:
        state.add_metric([kind.__name__.lower()], int(isinstance(role, kind)))
    yield state
    yield _gauge("raft_current_epoch", "Newest epoch it knows", role.epoch)
    yield _gauge("raft_current_leader", "Node id of the leader, -1 for none", role.leader_id)
    voted = role.local if isinstance(role, Leader) else role.voted
    voted_id = -1 if voted is None else voted.node_id
    yield _gauge("raft_current_vote", "Node id voted for in this epoch, -1 for none", voted_id)
    is_voter = local is not None and voters.is_voter(local.key)
    yield _gauge("raft_is_voter", "1 while in the voter set", int(is_voter))
    yield _gauge("raft_number_of_voters", "Size of the voter set in force", len(voters))
    yield CounterMetricFamily(
        "kraftlake_raft_elections", "Epochs in which it was a candidate", driver.elections
    )


def _log(driver: Driver) -> Iterator[Metric]:
    raft, log = driver.raft, driver.raft.log
    watermark = -1 if raft.high_watermark is None else raft.high_watermark
    snapshot = 0 if log.latest_snapshot is None else log.latest_snapshot.offset
    yield _gauge("raft_high_watermark", "End of what is committed (exclusive), -1", watermark)
    yield _gauge("raft_log_end_offset", "End of the log (exclusive)", log.log_end)
    yield _gauge("raft_log_end_epoch", "Epoch of its last record", log.last_epoch)
    yield _gauge("raft_log_start_offset", "First offset in the log", log.log_start)
    yield _gauge("raft_latest_snapshot_end_offset", "Of the newest snapshot, 0 for none", snapshot)
    yield _gauge("raft_log_size_bytes", "Of the log's segments", driver.log.size_bytes)


def _lag(driver: Driver, role: Leader) -> Metric:
    """Only a leader knows how far the others are."""
    end, voters = driver.raft.log.log_end, driver.raft.log.voters
    lag = GaugeMetricFamily(
        "kraftlake_raft_replica_lag",
        "Records by which a replica's last fetch was behind the leader's log end",
        labels=["replica", "directory", "kind"],
    )
    for key, progress in role.progress.items():
        if key.node_id == role.local.node_id:
            continue
        kind = "voter" if voters.is_voter(key) else "observer"
        behind = max(0, end - max(0, progress.log_end))
        lag.add_metric([str(key.node_id), key.directory_id, kind], behind)
    return lag


def _requests(sources: Sources) -> Iterator[Metric]:
    dispatch = sources.dispatch
    asked = CounterMetricFamily("kraftlake_requests", "Requests that came in", labels=["api"])
    for api, count in sorted(dispatch.asked.items()):
        asked.add_metric([api], count)
    yield asked
    yield CounterMetricFamily(
        "kraftlake_requests_denied", "Requests of principals without the role", dispatch.denied
    )
    fetches = sources.partition.fetches
    yield CounterMetricFamily(
        "kraftlake_reader_fetches", "Readers' fetches answered with records", fetches
    )
    closed = CounterMetricFamily(
        "kraftlake_connections_refused",
        "Connections closed for what they sent, by reason",
        labels=["listener", "reason"],
    )
    there = GaugeMetricFamily(
        "kraftlake_connections", "Connections that are open", labels=["listener"]
    )
    for name, server in sorted(sources.servers.items()):
        there.add_metric([name], server.connections)
        for reason, count in sorted(server.refused.items()):
            closed.add_metric([name, reason], count)
    yield closed
    yield there


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"kraftlake_{name}", text, value)
