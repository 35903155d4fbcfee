"""The settings that Kafka knows, with the type and the bounds of each value.

SETTINGS follows KafkaConfig's ConfigDef in the releases 3.9 to 4.4. Each of its bounds is the
widest of these releases; NARROWED_IN has the lower bounds that a newer release raised. tests/drift
compares both with Kafka's classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

Release = tuple[int, int]
"""A release of Kafka, such as (4, 1)."""
STRICT_LISTS: Release = (4, 2)
"""The first release that types listeners, log.dirs and the like as lists (KIP-1161)."""


class Type(Enum):
    """The type of a setting's value (ConfigDef.Type). The enum value of SHORT, INT and LONG is the
    size in bits."""

    TEXT = 0
    """A text, a list, a password or the name of a class."""
    BOOLEAN = 1
    SHORT = 16
    INT = 32
    LONG = 64
    DOUBLE = 65


class Kind(NamedTuple):
    """The values that a setting may have."""

    type: Type
    least: float | None = None
    """The lower bound, inclusive; None without a bound."""
    most: float | None = None
    """The upper bound, inclusive; None without a bound."""
    choices: tuple[str, ...] = ()
    """The texts that Kafka accepts, in Kafka's order; empty if Kafka accepts every text."""


def _names(text: str) -> list[str]:
    return text.split()


def _alike(kind: Kind, names: str) -> Iterator[tuple[str, Kind]]:
    return ((name, kind) for name in _names(names))


def _texts(name: str, choices: str) -> tuple[str, Kind]:
    return name, Kind(Type.TEXT, choices=tuple(_names(choices)))


SETTINGS: dict[str, Kind] = dict([
    *_alike(Kind(Type.BOOLEAN), """
        alter.config.policy.kraft.compatibility.enable auto.create.topics.enable
        auto.include.jmx.reporter auto.leader.rebalance.enable broker.id.generation.enable
        controlled.shutdown.enable controller.quorum.auto.join.enable delete.topic.enable
        eligible.leader.replicas.enable errors.deadletterqueue.auto.create.topics.enable
        follower.fetch.last.tiered.offset.enable group.consumer.assignor.offload.enable
        group.coordinator.new.enable group.share.assignor.offload.enable group.share.enable
        group.streams.assignor.offload.enable log.cleaner.enable log.message.downconversion.enable
        log.preallocate remote.log.storage.system.enable
        sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
        sasl.oauthbearer.assertion.claim.jti.include ssl.allow.dn.changes ssl.allow.san.changes
        transaction.partition.verification.enable transaction.two.phase.commit.enable
        unclean.leader.election.enable unstable.api.versions.enable
        unstable.feature.versions.enable zookeeper.metadata.migration.enable zookeeper.set.acl
        zookeeper.ssl.client.enable zookeeper.ssl.crl.enable zookeeper.ssl.ocsp.enable
    """),
    *_alike(Kind(Type.DOUBLE), """
        log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second
        sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
        sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    """),
    *_alike(Kind(Type.INT, 1), """
        add.partitions.to.txn.retry.backoff.ms alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds background.threads
        controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
        controller.quota.window.num controller.quota.window.size.seconds
        group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
        group.consumer.max.session.timeout.ms group.consumer.max.size
        group.consumer.min.heartbeat.interval.ms group.consumer.min.session.timeout.ms
        group.consumer.session.timeout.ms group.coordinator.background.threads
        group.coordinator.threads group.max.size group.share.heartbeat.interval.ms
        group.share.initialize.retry.interval.ms group.share.max.heartbeat.interval.ms
        group.share.max.session.timeout.ms group.share.max.share.sessions
        group.share.min.heartbeat.interval.ms group.share.min.session.timeout.ms
        group.share.session.timeout.ms group.streams.heartbeat.interval.ms
        group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms
        group.streams.max.size group.streams.min.heartbeat.interval.ms
        group.streams.min.session.timeout.ms group.streams.min.task.offset.interval.ms
        group.streams.session.timeout.ms group.streams.task.offset.interval.ms
        kafka.metrics.polling.interval.secs log.roll.hours max.request.partition.size.limit
        metrics.num.samples min.insync.replicas num.io.threads num.network.threads num.partitions
        num.recovery.threads.per.data.dir offsets.commit.timeout.ms offsets.load.buffer.size
        offsets.retention.minutes offsets.topic.num.partitions offsets.topic.segment.bytes
        producer.id.expiration.check.interval.ms producer.id.expiration.ms queued.max.requests
        quota.window.num quota.window.size.seconds remote.fetch.max.wait.ms
        remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
        remote.log.manager.fetch.quota.window.num
        remote.log.manager.fetch.quota.window.size.seconds
        remote.log.manager.follower.thread.pool.size remote.log.manager.thread.pool.size
        remote.log.reader.max.pending.tasks remote.log.reader.threads replication.quota.window.num
        replication.quota.window.size.seconds
        share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
        share.coordinator.state.topic.num.partitions
        share.coordinator.state.topic.prune.interval.ms
        share.coordinator.state.topic.segment.bytes share.coordinator.threads
        share.coordinator.write.timeout.ms socket.listen.backlog.size socket.request.max.bytes
        telemetry.max.bytes transaction.abort.timed.out.transaction.cleanup.interval.ms
        transaction.max.timeout.ms transaction.remove.expired.transaction.cleanup.interval.ms
        transaction.state.log.load.buffer.size transaction.state.log.min.isr
        transaction.state.log.num.partitions transaction.state.log.segment.bytes
        transactional.id.expiration.ms zookeeper.max.in.flight.requests
        zookeeper.metadata.migration.min.batch.size
    """),
    *_alike(Kind(Type.INT), """
        broker.heartbeat.interval.ms broker.id broker.session.timeout.ms
        controlled.shutdown.max.retries controller.quorum.append.linger.ms
        controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
        controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
        controller.quorum.retry.backoff.ms controller.socket.timeout.ms default.replication.factor
        delete.records.purgatory.purge.interval.requests fetch.purgatory.purge.interval.requests
        group.initial.rebalance.delay.ms group.max.session.timeout.ms group.min.session.timeout.ms
        initial.broker.registration.timeout.ms internal.metadata.log.segment.bytes
        internal.metadata.max.batch.size.in.bytes internal.metadata.max.fetch.size.in.bytes
        leader.imbalance.per.broker.percentage log.retention.hours log.retention.minutes node.id
        num.replica.alter.log.dirs.threads num.replica.fetchers offset.metadata.max.bytes
        offsets.topic.compression.codec producer.purgatory.purge.interval.requests
        remote.log.manager.copier.thread.pool.size remote.log.manager.expiration.thread.pool.size
        replica.fetch.min.bytes replica.fetch.wait.max.ms replica.socket.receive.buffer.bytes
        replica.socket.timeout.ms request.timeout.ms sasl.login.connect.timeout.ms
        sasl.login.read.timeout.ms sasl.oauthbearer.clock.skew.seconds
        sasl.server.max.receive.size share.coordinator.state.topic.compression.codec
        share.fetch.purgatory.purge.interval.requests socket.receive.buffer.bytes
        socket.send.buffer.bytes zookeeper.connection.timeout.ms zookeeper.session.timeout.ms
    """),
    *_alike(Kind(Type.INT, 0), """
        add.partitions.to.txn.retry.backoff.max.ms connection.failed.authentication.delay.ms
        group.consumer.assignment.interval.ms group.consumer.max.assignment.interval.ms
        group.consumer.min.assignment.interval.ms group.share.assignment.interval.ms
        group.share.max.assignment.interval.ms group.share.min.assignment.interval.ms
        group.streams.assignment.interval.ms group.streams.initial.rebalance.delay.ms
        group.streams.max.assignment.interval.ms group.streams.max.standby.replicas
        group.streams.max.warmup.replicas group.streams.min.assignment.interval.ms
        group.streams.num.standby.replicas group.streams.num.warmup.replicas
        log.cleaner.io.buffer.size log.cleaner.threads log.flush.offset.checkpoint.interval.ms
        log.flush.start.offset.checkpoint.interval.ms log.index.interval.bytes
        log.roll.jitter.hours max.connection.creation.rate max.connections max.connections.per.ip
        max.incremental.fetch.session.cache.slots message.max.bytes metadata.max.idle.interval.ms
        remote.log.metadata.custom.metadata.max.bytes replica.fetch.backoff.ms
        replica.fetch.max.bytes replica.fetch.response.max.bytes reserved.broker.max.id
        share.coordinator.snapshot.update.records.per.snapshot
    """),
    *_alike(Kind(Type.LONG), """
        connections.max.idle.ms connections.max.reauth.ms controlled.shutdown.retry.backoff.ms
        internal.metadata.delete.delay.millis log.cleaner.dedupe.buffer.size log.flush.interval.ms
        log.flush.scheduler.interval.ms log.retention.bytes log.retention.ms log.roll.jitter.ms
        log.roll.ms metadata.log.segment.ms metadata.max.retention.bytes metadata.max.retention.ms
        queued.max.request.bytes replica.high.watermark.checkpoint.interval.ms
        replica.lag.time.max.ms sasl.kerberos.min.time.before.relogin
        sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
        sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms socket.connection.setup.timeout.max.ms
        socket.connection.setup.timeout.ms
    """),
    *_alike(Kind(Type.LONG, 1), """
        delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
        delegation.token.max.lifetime.ms leader.imbalance.check.interval.seconds
        log.cleaner.max.compaction.lag.ms log.dir.failure.timeout.ms log.flush.interval.messages
        log.retention.check.interval.ms metadata.log.max.record.bytes.between.snapshots
        metrics.sample.window.ms offsets.retention.check.interval.ms
        remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
        remote.log.manager.copy.max.bytes.per.second remote.log.manager.fetch.max.bytes.per.second
        remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
        remote.log.manager.task.retry.backoff.ms unclean.leader.election.interval.ms
    """),
    *_alike(Kind(Type.LONG, 0), """
        controller.performance.always.log.threshold.ms group.streams.acceptable.recovery.lag
        log.cleaner.backoff.ms log.cleaner.delete.retention.ms log.cleaner.min.compaction.lag.ms
        log.initial.task.delay.ms log.message.timestamp.after.max.ms
        log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms
        log.segment.delete.delay.ms metadata.log.max.snapshot.interval.ms
        server.max.startup.time.ms
    """),
    *_alike(Kind(Type.TEXT), """
        advertised.listeners alter.config.policy.class.name authorizer.class.name broker.rack
        client.quota.callback.class config.providers control.plane.listener.name
        controller.listener.names controller.quorum.bootstrap.servers controller.quorum.voters
        cordoned.log.dirs create.topic.policy.class.name delegation.token.master.key
        delegation.token.secret.key early.start.listeners errors.deadletterqueue.topic.name.prefix
        group.consumer.assignors group.consumer.migration.policy
        group.coordinator.rebalance.protocols group.share.assignors
        group.share.dlq.manager.class.name group.share.persister.class.name
        group.streams.assignors group.streams.rack.aware.assignment.tags
        group.streams.topology.description.plugin.class inter.broker.listener.name
        inter.broker.protocol.version kafka.metrics.reporters listener.security.protocol.map
        listeners log.cleanup.policy log.dir log.dirs log.message.format.version
        max.connections.per.ip.overrides metadata.log.dir
        metric.reporters metrics.recording.level password.encoder.cipher.algorithm
        password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
        principal.builder.class process.roles remote.log.metadata.manager.class.name
        remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
        remote.log.metadata.manager.listener.name remote.log.storage.manager.class.name
        remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
        replica.selector.class sasl.client.callback.handler.class sasl.enabled.mechanisms
        sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.principal.to.local.rules
        sasl.kerberos.service.name sasl.login.callback.handler.class sasl.login.class
        sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol
        sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.sub
        sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
        sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
        sasl.oauthbearer.client.credentials.client.id
        sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.expected.audience
        sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url
        sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
        sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class
        security.providers ssl.cipher.suites
        ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
        ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
        ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.principal.mapping.rules
        ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
        ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
        ssl.truststore.type zookeeper.clientCnxnSocket zookeeper.connect
        zookeeper.ssl.cipher.suites zookeeper.ssl.enabled.protocols
        zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location
        zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type zookeeper.ssl.protocol
        zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password
        zookeeper.ssl.truststore.type
    """),
    ("compression.gzip.level", Kind(Type.INT, -1, 9)),
    ("compression.lz4.level", Kind(Type.INT, 1, 17)),
    _texts("compression.type", "uncompressed zstd lz4 snappy gzip producer"),
    ("compression.zstd.level", Kind(Type.INT, -131072, 22)),
    ("controller.performance.sample.period.ms", Kind(Type.LONG, 100)),
    ("fetch.max.bytes", Kind(Type.INT, 1024)),
    ("group.consumer.regex.refresh.interval.ms", Kind(Type.INT, 10000)),
    ("group.coordinator.append.linger.ms", Kind(Type.INT, -1)),
    ("group.coordinator.cached.buffer.max.bytes", Kind(Type.INT, 524288)),
    ("group.share.delivery.count.limit", Kind(Type.INT, 2, 10)),
    ("group.share.max.delivery.count.limit", Kind(Type.INT, 5, 25)),
    ("group.share.max.groups", Kind(Type.SHORT, 1, 100)),
    ("group.share.max.partition.max.record.locks", Kind(Type.INT, 2000, 10000)),
    ("group.share.max.record.lock.duration.ms", Kind(Type.INT, 30000, 3600000)),
    ("group.share.max.size", Kind(Type.INT, 1, 1000)),
    ("group.share.min.delivery.count.limit", Kind(Type.INT, 2, 5)),
    ("group.share.min.partition.max.record.locks", Kind(Type.INT, 100, 2000)),
    ("group.share.min.record.lock.duration.ms", Kind(Type.INT, 1000, 30000)),
    ("group.share.partition.max.record.locks", Kind(Type.INT, 100, 10000)),
    ("group.share.record.lock.duration.ms", Kind(Type.INT, 1000, 3600000)),
    ("log.cleaner.min.cleanable.ratio", Kind(Type.DOUBLE, 0, 1)),
    ("log.index.size.max.bytes", Kind(Type.INT, 4)),
    ("log.local.retention.bytes", Kind(Type.LONG, -2)),
    ("log.local.retention.ms", Kind(Type.LONG, -2)),
    ("log.remote.copy.lag.bytes", Kind(Type.LONG, -1)),
    ("log.remote.copy.lag.ms", Kind(Type.LONG, -1)),
    _texts("log.message.timestamp.type", "CreateTime LogAppendTime"),
    ("log.segment.bytes", Kind(Type.INT, 14)),
    ("max.decompressed.message.bytes", Kind(Type.INT, 1, 2147483639)),
    ("metadata.log.segment.bytes", Kind(Type.INT, 12)),
    ("metadata.log.segment.min.bytes", Kind(Type.INT, 12)),
    ("offsets.commit.required.acks", Kind(Type.SHORT)),
    ("offsets.topic.replication.factor", Kind(Type.SHORT, 1)),
    ("password.encoder.iterations", Kind(Type.INT, 1024)),
    ("password.encoder.key.length", Kind(Type.INT, 8)),
    ("remote.log.index.file.cache.ttl.ms", Kind(Type.LONG, -1)),
    ("remote.log.manager.task.retry.jitter", Kind(Type.DOUBLE, 0, 0.5)),
    ("sasl.login.refresh.buffer.seconds", Kind(Type.SHORT)),
    ("sasl.login.refresh.min.period.seconds", Kind(Type.SHORT)),
    ("sasl.oauthbearer.assertion.claim.exp.seconds", Kind(Type.INT, 0, 86400)),
    ("sasl.oauthbearer.assertion.claim.nbf.seconds", Kind(Type.INT, 0, 3600)),
    _texts("security.inter.broker.protocol", "PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL"),
    ("share.coordinator.append.linger.ms", Kind(Type.INT, -1)),
    ("share.coordinator.cached.buffer.max.bytes", Kind(Type.INT, 524288)),
    ("share.coordinator.state.topic.min.isr", Kind(Type.SHORT, 1)),
    ("share.coordinator.state.topic.replication.factor", Kind(Type.SHORT, 1)),
    _texts("ssl.client.auth", "required requested none"),
    ("transaction.state.log.replication.factor", Kind(Type.SHORT, 1)),
])  # fmt: skip
"""The kind of each setting, by its name. Names are case-sensitive."""

REMOVED_IN_4 = frozenset(_names("""
    alter.config.policy.kraft.compatibility.enable auto.include.jmx.reporter
    broker.id.generation.enable control.plane.listener.name controlled.shutdown.max.retries
    controlled.shutdown.retry.backoff.ms delegation.token.master.key
    eligible.leader.replicas.enable group.coordinator.new.enable group.share.max.groups
    inter.broker.protocol.version leader.imbalance.per.broker.percentage
    log.message.downconversion.enable log.message.format.version
    log.message.timestamp.difference.max.ms metadata.log.segment.min.bytes
    offsets.commit.required.acks password.encoder.cipher.algorithm password.encoder.iterations
    password.encoder.key.length password.encoder.keyfactory.algorithm
    password.encoder.old.secret password.encoder.secret reserved.broker.max.id
    zookeeper.clientCnxnSocket zookeeper.connect zookeeper.connection.timeout.ms
    zookeeper.max.in.flight.requests zookeeper.metadata.migration.enable
    zookeeper.metadata.migration.min.batch.size zookeeper.session.timeout.ms zookeeper.set.acl
    zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable zookeeper.ssl.crl.enable
    zookeeper.ssl.enabled.protocols zookeeper.ssl.endpoint.identification.algorithm
    zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password
    zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol
    zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password
    zookeeper.ssl.truststore.type
"""))  # fmt: skip
"""Settings that Kafka 3.9 reads, and that Kafka 4.0 and newer ignore."""

NARROWED_IN: dict[str, tuple[Release, int]] = {
    "log.segment.bytes": ((4, 0), 1024 * 1024),
    "metadata.log.segment.bytes": ((4, 1), 8 * 1024 * 1024),
    "node.id": ((4, 0), 0),
    "num.replica.fetchers": ((4, 4), 1),
    "controller.quorum.append.linger.ms": ((4, 1), 0),
    "controller.quorum.election.backoff.max.ms": ((4, 1), 0),
    "controller.quorum.election.timeout.ms": ((4, 1), 0),
    "controller.quorum.fetch.timeout.ms": ((4, 1), 0),
    "controller.quorum.request.timeout.ms": ((4, 1), 0),
    "controller.quorum.retry.backoff.ms": ((4, 1), 0),
}
"""Settings whose lower bound a release raised, with this release and the new bound."""


OF_A_LISTENER = "listener.name."


def kind_of(name: str, release: Release) -> Kind | None:
    """The kind of a setting in a release; None for a name that the release doesn't know. A name may
    begin with a listener, and with a SASL mechanism, in lower case:
    listener.name.LISTENER.[MECHANISM.]NAME."""
    plain = _without_listener(name)
    kind = SETTINGS.get(plain)
    if kind is None or (plain in REMOVED_IN_4 and release >= (4, 0)):
        return None
    since, least = NARROWED_IN.get(plain, (release, None))
    return kind._replace(least=least) if least is not None and release >= since else kind


def _without_listener(name: str) -> str:
    if not name.startswith(OF_A_LISTENER) or name != name.lower():
        return name
    of_listener = name.removeprefix(OF_A_LISTENER).partition(".")[2]
    return of_listener if of_listener in SETTINGS else of_listener.partition(".")[2]
