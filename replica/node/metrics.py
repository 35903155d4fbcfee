"""A node's metrics in Prometheus' format, and the pages for probes, over HTTP.

/healthz and /readyz give the outcome of replica.node.readiness. Any other path gives the metrics.

The names follow Kafka's (the group raft-metrics of KafkaRaftMetrics), with units by Prometheus'
conventions. All values of an answer are read in the node's event loop at one moment. A node that
hangs gives no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from replica.node.driver import Driver
from replica.node.http_server import OK, UNAVAILABLE, HttpResponse, HttpServer
from replica.node.readiness import Readiness, Wedge
from replica.node.serve.dispatch import Dispatch
from replica.node.serve.partition import ServedPartition
from replica.raft.mistakes import Mistake
from replica.raft.roles import Leader
from replica.raft.transitions import ROLES
from replica.wire.server import Server

Collect = Callable[[], Iterable[Metric]]
"""A function that gives further metrics. The function is called in the node's event loop, so it
must not wait."""

CHANGE_BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Sources:
    """The objects whose values are the metrics."""

    driver: Driver
    dispatch: Dispatch
    partition: ServedPartition
    servers: dict[str, Server]
    """The servers by the names of their listeners; more servers may be added later."""


class Metrics(HttpServer):
    """The server of the pages of metrics and probes. Create this object in the node's event loop.

    look: a function that gives `readiness` a sample of the replica now.
    more: functions that give further metrics.
    """

    def __init__(
        self,
        sources: Sources,
        readiness: Readiness,
        look: Callable[[], None],
        more: Sequence[Collect],
    ) -> None:
        super().__init__(self._page)
        self._sources = sources
        self._readiness = readiness
        self._look = look
        self._registry = CollectorRegistry()
        self._latency = Histogram(
            "kraftlake_raft_append_latency_seconds",
            "From an append at this leader to its commit",
            buckets=LATENCY_BUCKETS_S,
            registry=self._registry,
        )
        sources.driver.on_commit = self._latency.observe
        without_leader = Histogram(
            "kraftlake_leader_change_duration_seconds",
            "From the last answer of a leader to a fetch of this replica to the first of its "
            "successor's",
            buckets=CHANGE_BUCKETS_S,
            registry=self._registry,
        )
        sources.driver.heard.on_change = without_leader.observe
        ProcessCollector(registry=self._registry)
        for collect in (lambda: _metrics(sources), lambda: _ready(readiness), *more):
            self._registry.register(_Collector(collect))

    def _page(self, path: str, accepted: str) -> HttpResponse:
        self._look()
        if path in ("/healthz", "/readyz"):
            return self._probed(path)
        encode, kind = choose_encoder(accepted)
        return HttpResponse(kind, encode(self._registry))

    def _probed(self, path: str) -> HttpResponse:
        """The page of a probe, /healthz or /readyz. The page has a line for each fault."""
        readiness = self._readiness
        lines = readiness.lines()
        if self._sources.driver.has_failed:
            lines.insert(0, "failed: an error has stopped this replica")
        is_fine = readiness.is_healthy if path == "/healthz" else readiness.is_ready
        if self._sources.driver.has_failed or not is_fine:
            return _text(lines, UNAVAILABLE)
        return _text(["ok", *lines])


def _text(lines: Iterable[str], status: str = OK) -> HttpResponse:
    return HttpResponse(
        "text/plain; charset=utf-8", "".join(f"{line}\n" for line in lines).encode(), status
    )


class _Collector:
    """The collector from which the registry of the Prometheus client gets the values at each
    request."""

    def __init__(self, collect: Collect) -> None:
        self._collect = collect

    def describe(self) -> Iterable[Metric]:
        """No metrics. Without this method, the registry would collect values to learn the metrics'
        names, before there are any values."""
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._collect()


def _ready(readiness: Readiness) -> Iterator[Metric]:
    yield gauge("ready", "1 while its log shows what the quorum commits", readiness.is_ready)
    found = readiness.wedges()
    values = (([wedge.value], int(wedge in found)) for wedge in Wedge)
    yield gauges("wedged", "1 while that has lasted for 10 s or longer", ["reason"], values)


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
    roles = (([kind.__name__.lower()], int(isinstance(role, kind))) for kind in ROLES)
    yield gauges("raft_state", "1 for the role that the replica has", ["state"], roles)
    yield gauge("raft_current_epoch", "Newest epoch it knows", role.epoch)
    yield gauge("raft_current_leader", "Node id of the leader, -1 for none", role.leader_id)
    voted = role.local if isinstance(role, Leader) else role.voted
    voted_id = -1 if voted is None else voted.node_id
    yield gauge("raft_current_vote", "Node id voted for in this epoch, -1 for none", voted_id)
    is_voter = local is not None and voters.is_voter(local.key)
    yield gauge("raft_is_voter", "1 while in the voter set", int(is_voter))
    yield gauge("raft_number_of_voters", "Size of the voter set in force", len(voters))
    yield counter("raft_elections", "Epochs in which it was a candidate", driver.elections)
    heard = driver.heard
    text = "Leaders of a newer epoch that answered its fetches after another one"
    yield counter("leader_changes", text, heard.leader_changes)
    text = "Epochs that these changes took, those without a leader too"
    yield counter("leader_epochs", text, heard.epochs_passed)
    mistakes = Counter[Mistake]()
    for offence, count in raft.illegal_messages.items():
        mistakes[offence.mistake] += count
    text = "Messages that no correct peer sends, by what is wrong"
    counted = (([mistake.name.lower()], mistakes[mistake]) for mistake in Mistake)
    yield counters("raft_illegal_messages", text, ["mistake"], counted)


def _log(driver: Driver) -> Iterator[Metric]:
    raft, log = driver.raft, driver.raft.log
    watermark = -1 if raft.high_watermark is None else raft.high_watermark
    snapshot = 0 if log.latest_snapshot is None else log.latest_snapshot.offset
    yield gauge("raft_high_watermark", "End of what is committed (exclusive), -1", watermark)
    yield gauge("raft_log_end_offset", "End of the log (exclusive)", log.log_end)
    applied = min(driver.host.machine.next_offset, driver.host.commit_end)
    yield gauge("applied_end_offset", "End of what its state machine has (exclusive)", applied)
    yield gauge("raft_log_end_epoch", "Epoch of its last record", log.last_epoch)
    yield gauge("raft_log_start_offset", "First offset in the log", log.log_start)
    yield gauge("raft_latest_snapshot_end_offset", "Of the newest snapshot, 0 for none", snapshot)
    yield gauge("raft_log_size_bytes", "Of the log's segments", driver.log.size_bytes)


def _lag(driver: Driver, role: Leader) -> Metric:
    """The number of records that each other replica lacks. Only a leader knows these numbers."""
    end, voters = driver.raft.log.log_end, driver.raft.log.voters
    lag = GaugeMetricFamily(
        "kraftlake_raft_replica_lag",
        "Records by which a replica's last fetch was behind the leader's log end",
        labels=["replica", "directory", "kind"],
    )
    for key, progress in (*role.progress.items(), *driver.raft.observers.items()):
        if key.node_id == role.local.node_id:
            continue
        kind = "voter" if voters.is_voter(key) else "observer"
        behind = max(0, end - max(0, progress.log_end))
        lag.add_metric([str(key.node_id), key.directory_id, kind], behind)
    return lag


def _requests(sources: Sources) -> Iterator[Metric]:
    dispatch = sources.dispatch
    asked = (([api], count) for api, count in sorted(dispatch.asked.items()))
    yield counters("requests", "Requests that came in", ["api"], asked)
    yield counter("requests_denied", "Requests of principals without the role", dispatch.denied)
    fetches = sources.partition.fetches
    yield counter("reader_fetches", "Readers' fetches answered with records", fetches)
    servers = sorted(sources.servers.items())
    closed = (
        ([name, reason], count)
        for name, server in servers
        for reason, count in sorted(server.refused.items())
    )
    text = "Connections closed for what they sent, by reason"
    yield counters("connections_refused", text, ["listener", "reason"], closed)
    there = (([name], server.connections) for name, server in servers)
    yield gauges("connections", "Connections that are open", ["listener"], there)


def gauge(name: str, text: str, value: float) -> Metric:
    """A gauge without labels. name: the name without the prefix kraftlake_."""
    return GaugeMetricFamily(f"kraftlake_{name}", text, value)


def counter(name: str, text: str, value: float) -> Metric:
    """A counter without labels. name: the name without the prefix kraftlake_."""
    return CounterMetricFamily(f"kraftlake_{name}", text, value)


Labelled = Iterable[tuple[list[str], float]]
"""The values of a metric with labels: for each value the texts of its labels, then the value."""


def gauges(name: str, text: str, labels: list[str], values: Labelled) -> Metric:
    """A gauge with labels. name: the name without the prefix kraftlake_. labels: the names of the
    labels."""
    return _filled(GaugeMetricFamily(f"kraftlake_{name}", text, labels=labels), values)


def counters(name: str, text: str, labels: list[str], values: Labelled) -> Metric:
    """A counter with labels. name: the name without the prefix kraftlake_. labels: the names of the
    labels."""
    return _filled(CounterMetricFamily(f"kraftlake_{name}", text, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Labelled) -> Metric:
    for named, value in values:
        family.add_metric(named, value)
    return family
