"""The settings of a replica, by the names of Kafka's server.properties (KafkaConfig, QuorumConfig,
MetadataLogConfig). Keys of our own begin with `kraftlake.`.

Kafka's keys decide when a metadata log gets a snapshot, and where the log may start. KIP-630 has
other keys for these settings, which Kafka never implemented: a file with one of them chooses
KIP-630's rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.errors import UsageError
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID, ReplicaId
from replica.model.voters import Endpoint, Voter, VoterSet
from replica.node.authorizer import Authorizer, authorizer_in
from replica.node.listeners import Listener, address, bootstrap_servers, listeners, static_voters
from replica.node.properties import Properties
from replica.node.security.node import NodeSecurity, node_security_in
from replica.raft.config import Config
from replica.raft.snapshots import SnapshotPolicy
from replica.storage.segment import LogConfig
from replica.wire.apis.draft import fetch_quorum_records

_MAX_INT = 2**31 - 1
_MIB = 1024 * 1024
_WITHOUT_EFFECT = ("process.roles", "cordoned.log.dirs")
"""Keys of Kafka that have no effect here and cause no notice: every replica here is a controller,
and a metadata log never moves to another directory."""


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of the replicated partition, whose number is always 0."""

    name: str = METADATA_TOPIC
    id: str = METADATA_TOPIC_ID
    """The id of the topic, 22 characters of base64."""

    @property
    def is_metadata(self) -> bool:
        """Whether the records are cluster metadata. A replica doesn't decode other records, so
        their log never gets a snapshot, and its start never moves."""
        return self.name == METADATA_TOPIC


@dataclass(frozen=True, slots=True)
class Recording:
    """The settings of an observer that records another quorum."""

    archive: str
    """The folder for the batches that the observer's log drops."""
    is_anonymous: bool = False
    """Whether the observer fetches without a node id."""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The settings of a node."""

    path: str
    node_id: int
    log_dir: str
    """The node's directory, which holds meta.properties."""
    listeners: tuple[Listener, ...]
    advertised: tuple[Endpoint, ...]
    controller_listener: str
    """The name of the listener that other voters use."""
    static_voters: VoterSet
    bootstrap_servers: tuple[tuple[str, int], ...]
    topic: Topic
    core: Config
    """The core's configuration without the cluster's id, the replica and the static voters, which
    `config` adds."""
    log: LogConfig
    snapshots: SnapshotPolicy
    rack: str
    uncommitted_is_empty: bool
    authorizer: Authorizer
    security: NodeSecurity
    draft_key: int | None
    metrics_listener: tuple[str, int] | None
    unknown: tuple[str, ...]
    """The keys of the file that have no effect. These keys are reported once."""
    recording: Recording | None = None
    """The settings of an observer that records another quorum; None for other replicas. No key of
    the file sets this field."""

    @property
    def partition_folder(self) -> str:
        return f"{self.log_dir}/{self.topic.name}-0"

    @property
    def is_static(self) -> bool:
        """Whether controller.quorum.voters names the voters (kraft.version 0)."""
        return len(self.static_voters) > 0

    def config(self, replica: ReplicaId) -> Config:
        """The core's configuration, for the replica that meta.properties names."""
        is_anonymous = self.recording is not None and self.recording.is_anonymous
        return replace(
            self.core,
            cluster_id=replica.cluster_id,
            local=None if is_anonymous else Voter(replica.key, self.advertised),
            static_voters=self.static_voters,
        )

    def bootstrap_address(self, name: int) -> tuple[str, int]:
        """(host, port) of a bootstrap server. name: its id, one of Config.bootstrap_ids."""
        return self.bootstrap_servers[-2 - name]


def settings_in(properties: Properties) -> NodeSettings:
    """The settings in a file. Raises UsageError, which names file and key, for an invalid value."""
    names = _controller_listeners(properties)
    bound = listeners(properties)
    voters = static_voters(properties, names[0])
    servers = bootstrap_servers(properties)
    if not (len(voters) or servers):
        why = "missing: name the quorum by it, or by controller.quorum.voters"
        raise properties.error("controller.quorum.bootstrap.servers", why)
    node_id = properties.number("node.id", -1, -1, _MAX_INT)
    if node_id < 0:
        raise properties.error("node.id", "missing; every replica has an id of its own")
    for key in _WITHOUT_EFFECT:
        properties.text(key)
    topic = _topic(properties)
    return NodeSettings(
        path=properties.path,
        node_id=node_id,
        log_dir=_log_dir(properties),
        listeners=bound,
        advertised=_advertised(properties, bound, names),
        controller_listener=names[0],
        static_voters=voters,
        bootstrap_servers=servers,
        topic=topic,
        core=_core(properties, topic, names[0], len(servers)),
        log=_log(properties),
        snapshots=snapshot_policy(properties),
        rack=properties.text("broker.rack"),
        uncommitted_is_empty=_uncommitted(properties),
        authorizer=authorizer_in(properties),
        security=node_security_in(properties, bound, names[0]),
        draft_key=_draft_key(properties),
        metrics_listener=address(properties, "kraftlake.metrics.listener"),
        unknown=properties.unknown(),
    )


def _controller_listeners(properties: Properties) -> tuple[str, ...]:
    names = properties.names("controller.listener.names") or ("CONTROLLER",)
    return tuple(name.upper() for name in names)


def _draft_key(properties: Properties) -> int | None:
    """The API key of FetchQuorumRecords, which KIP-595's draft doesn't fix. None if the key isn't
    set, so that this API isn't served."""
    key = "kraftlake.fetch.quorum.records.api.key"
    if not properties.text(key):
        return None
    found = properties.number(key, 0)
    try:
        fetch_quorum_records(found)
    except UsageError as error:
        raise properties.error(key, str(error)) from error
    return found


def _joins(properties: Properties) -> bool:
    """Whether an observer adds itself to the voters (KIP-1186)."""
    key = "controller.quorum.auto.join.enable"
    found = properties.flag(key, default=False)
    if found and not properties.names("listeners"):
        raise properties.error(key, "a voter needs one of the listeners to be reached by")
    if found and properties.names("controller.quorum.voters"):
        raise properties.error(
            key, "controller.quorum.voters makes the quorum static: leave it out"
        )
    return found


def _log_dir(properties: Properties) -> str:
    """The node's directory: metadata.log.dir, else the first of log.dirs, else log.dir
    (KafkaConfig.metadataLogDir)."""
    own, many, one = (properties.names(key) for key in ("metadata.log.dir", "log.dirs", "log.dir"))
    found = own or many or one
    if not found:
        raise properties.error("log.dirs", "missing; name the directory for the log")
    return found[0].rstrip("/") or "/"


def _log(properties: Properties) -> LogConfig:
    """The sizes and times of segments, and how many of the newest bytes stay in memory. Kafka (4.1
    and later) has the key that begins with `internal.` for small segments in tests."""
    size = properties.number("metadata.log.segment.bytes", 1024 * _MIB, 1, _MAX_INT)
    size = properties.number("internal.metadata.log.segment.bytes", size, 1, _MAX_INT)
    ms = properties.number("metadata.log.segment.ms", 7 * 24 * 3_600_000, 1)
    newest = properties.number("kraftlake.log.newest.bytes", 8 * _MIB, 0, _MAX_INT)
    return LogConfig(size, ms, newest_bytes=newest)


def _uncommitted(properties: Properties) -> bool:
    """Whether a reader's fetch above the high watermark gets an answer without records, as in
    released Kafka, instead of OFFSET_NOT_AVAILABLE (KIP-392)."""
    key = "kraftlake.reader.uncommitted"
    return properties.choice(key, ("error", "empty"), "error") == "empty"


def _topic(properties: Properties) -> Topic:
    name = properties.text("kraftlake.topic.name", METADATA_TOPIC)
    topic_id = properties.text("kraftlake.topic.id")
    if name == METADATA_TOPIC:
        if topic_id not in ("", METADATA_TOPIC_ID):
            raise properties.error("kraftlake.topic.id", f"{METADATA_TOPIC} has a fixed id")
        return Topic()
    if not topic_id:
        raise properties.error("kraftlake.topic.id", f"missing; {name} needs its id in base64")
    return Topic(name, topic_id)


def _core(properties: Properties, topic: Topic, listener: str, servers: int) -> Config:
    """The value of NodeSettings.core. listener: the name of the listener that voters use. servers:
    the number of bootstrap servers.

    The keys and defaults of fetch sizes are those of Kafka 4.3 and newer (KIP-1219). The size of a
    response has the internal key of Kafka 4.2 and older.
    """
    default = Config("", None)

    def ms(name: str, value: int, least: int = 1) -> int:
        return properties.number(f"controller.quorum.{name}.ms", value, least, _MAX_INT)

    def size(key: str, value: int) -> int:
        return properties.number(key, value, 1, _MAX_INT)

    request_timeout_ms = ms("request.timeout", default.request_timeout_ms, 2)
    max_bytes = properties.number("metadata.max.retention.bytes", default.retention_bytes, -1)
    max_ms = properties.number("metadata.max.retention.ms", default.retention_ms, -1)
    # a value chooses KIP-630's policy for the log start instead of metadata.max.retention.*
    lag_ms = properties.number(START_LAG, 0) if properties.text(START_LAG) else None
    return replace(
        default,
        bootstrap_ids=tuple(-2 - number for number in range(servers)),
        default_listener=listener,
        election_timeout_ms=ms("election.timeout", default.election_timeout_ms),
        election_backoff_max_ms=ms("election.backoff.max", default.election_backoff_max_ms),
        fetch_timeout_ms=ms("fetch.timeout", default.fetch_timeout_ms),
        fetch_max_wait_ms=min(500, request_timeout_ms // 2),
        request_timeout_ms=request_timeout_ms,
        retry_backoff_ms=ms("retry.backoff", default.retry_backoff_ms),
        append_linger_ms=ms("append.linger", default.append_linger_ms, 0),
        append_when_idle=properties.flag("kraftlake.append.when.idle", default=True),
        fetch_max_bytes=size("controller.quorum.fetch.max.bytes", default.fetch_max_bytes),
        fetch_snapshot_max_bytes=size(
            "controller.quorum.fetch.snapshot.max.bytes", default.fetch_snapshot_max_bytes
        ),
        response_max_bytes=size(
            "internal.metadata.max.fetch.size.in.bytes", default.response_max_bytes
        ),
        retention_bytes=max_bytes if topic.is_metadata else -1,
        retention_ms=max_ms if topic.is_metadata else -1,
        start_lag_ms=lag_ms if topic.is_metadata else None,
        auto_join=_joins(properties),
    )


def _advertised(
    properties: Properties, bound: tuple[Listener, ...], names: tuple[str, ...]
) -> tuple[Endpoint, ...]:
    """The endpoints of this voter for other voters, in the order of controller.listener.names. The
    addresses come from advertised.listeners, else from listeners."""
    named = listeners(properties, "advertised.listeners") or bound
    found = tuple(
        Endpoint(listener.name, listener.host or "localhost", listener.port)
        for name in names
        for listener in named
        if listener.name == name
    )
    if bound and not found:
        why = f"none of {', '.join(names)} (controller.listener.names) is there"
        raise properties.error("listeners", why)
    if any(endpoint.host in ("0.0.0.0", "::") for endpoint in found):  # noqa: S104
        raise UsageError(
            f"{properties.path}: advertised.listeners: others can't connect to a wildcard "
            "address; name a host"
        )
    return found


BYTES = "metadata.log.max.record.bytes.between.snapshots"
INTERVAL = "metadata.log.max.snapshot.interval.ms"
RATIO = "metadata.snapshot.min.changed_records.ratio"
OLDER_BYTES = "metadata.snapshot.min.new_records.size"
"""The name of the key BYTES in earlier versions of KIP-630."""
START_LAG = "metadata.start.offset.lag.time.max.ms"

_DEFAULT_BYTES = 20 * 1024 * 1024
_DEFAULT_RATIO = 0.5


def snapshot_policy(properties: Properties) -> SnapshotPolicy:
    """When the node makes snapshots. If RATIO or OLDER_BYTES is set, KIP-630's rule holds: enough
    new bytes and a large enough share of changed records. Otherwise Kafka's rule holds: enough new
    bytes or enough time. Raises UsageError for an invalid value, and if BYTES and OLDER_BYTES have
    different values."""
    new_bytes = properties.number(BYTES, _DEFAULT_BYTES, 1)
    interval_ms = properties.number(INTERVAL, 3_600_000)
    if not (properties.text(RATIO) or properties.text(OLDER_BYTES)):
        return SnapshotPolicy(new_bytes, interval_ms)
    older = properties.number(OLDER_BYTES, new_bytes, 1)
    if properties.text(BYTES) and older != new_bytes:
        raise properties.error(OLDER_BYTES, f"{older}, but {BYTES} is {new_bytes}: leave one out")
    return SnapshotPolicy(older, interval_ms, properties.fraction(RATIO, _DEFAULT_RATIO))
