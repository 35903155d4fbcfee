"""Random sequences of metadata records, from a seed, in which records concern the same entities.

There are few names and ids, so that most records find their entity. Some records have a wrong epoch
or contradict themselves, and in a careless sequence some name topics that were removed. As in a
real log a removed topic's id doesn't come back, and no two topics have the same name at a time. A
commit doesn't touch an entity again that it has removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from replica.message.primitives import uuid_text
from replica.metadata.image.replay import MARKERS
from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.records import RECORDS, RECORDS_BY_NAME
from replica.model.keys import ZERO_UUID

_BROKERS = (1, 2, 3, 4)
_EPOCHS = (10, 11)
_FEATURES = ("group.version", "transaction.version", "eligible.leader.replicas.version")
_METADATA_VERSIONS = (7, 8, 10, 11, 13, 14, 15, 16, 17, 22, 23, 27, 30, 33)
_CONFIGS = {
    2: ("retention.ms", "message.format.version"),
    4: ("log.retention.ms", "inter.broker.protocol.version"),
    16: ("interval.ms", "no.such.config"),
    32: ("consumer.session.timeout.ms", "no.such.config"),
}
"""Resource type -> a config name that every release knows, and one that Kafka 4 doesn't know."""
_USERS = ("alice", "bob", "")
_RARELY, _OFTEN = 0.04, 0.85


def _ids(prefix: bytes, count: int) -> tuple[str, ...]:
    return tuple(uuid_text((prefix + b"%d" % n).ljust(16, b"-")) for n in range(count))


_DIRECTORIES = (*_ids(b"directory", 3), ZERO_UUID)
_ACLS = _ids(b"acl", 4)

Commit = list[list[MetadataRecord]]
"""Batches of records that become visible together."""


@dataclass(frozen=True)
class Release:
    """What a Kafka release reads: the newest version of each record type, the newest level of
    metadata.version, the types of resources with configs, and the other features.

    careless: the share of sequences in which records may name topics that don't exist."""

    records: Mapping[str, int]
    newest_level: int
    resource_types: tuple[int, ...] = (2, 2, 2, 4, 16, 32)
    features: tuple[str, ...] = (*_FEATURES, "kraft.version")
    careless: float = 0.15


NEWEST = Release({schema.name: schema.newest for schema in RECORDS}, _METADATA_VERSIONS[-1])


class Sequence:
    """Draws records one after the other, in the form that `release` reads. `chance` decides
    everything."""

    def __init__(self, chance: Random, release: Release = NEWEST) -> None:
        self._chance = chance
        self._release = release
        self._careless = chance.random() < release.careless
        self._names = ["orders", "clicks", "audit", ""]
        self._created = 0
        self._live: dict[str, str] = {}  # topic id -> name
        self._before: dict[str, str] | None = None  # the same before BEGIN
        self._aborted = False  # in this commit
        self._gone = [ZERO_UUID]
        self._going: list[str] = []  # removed, but not yet visible
        makers: dict[Callable[[], MetadataRecord], int] = {
            self._topic: 6,
            self._remove_topic: 3,
            self._partition: 14,
            self._partition_change: 14,
            self._clear_elr: 2,
            self._config: 9,
            self._broker: 4,
            self._broker_change: 6,
            self._fencing: 5,
            self._unregister: 1,
            self._controller: 2,
            self._unregister_controller: 1,
            self._feature: 4,
            self._acl: 5,
            self._scram: 5,
            self._quota: 5,
            self._token: 4,
            self._singles: 3,
        }
        if "CLEAR_ELR_RECORD" not in release.records:
            makers[self._clear_elr] = 0
        if "UNREGISTER_CONTROLLER_RECORD" not in release.records:
            makers[self._unregister_controller] = 0
        self._of_topics = tuple(makers)[:5]
        self._makers, self._weights = list(makers), list(makers.values())

    def commits(self, count: int) -> list[Commit]:
        """A first commit that finalizes a metadata.version, and `count` further ones."""
        first = new_record(
            "FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": 7}
        )
        return [[[first]], *(self._commit() for _ in range(count))]

    def _commit(self) -> Commit:
        self._aborted = False
        if self._before is None:
            self._gone += (topic_id for topic_id in self._going if topic_id not in self._live)
            self._going = []
        return [
            [self.record() for _ in range(self._chance.randint(1, 6))]
            for _ in range(self._chance.choice((1, 1, 1, 2, 3)))
        ]

    def record(self) -> MetadataRecord:
        if self._chance.random() < (0.12 if self._before is not None else 0.06):
            return self._marker()
        make = self._chance.choices(self._makers, self._weights)[0]
        if make in self._of_topics and not self._live:
            make = self._topic
        # after an aborted transaction Kafka's topics may differ from the log's
        return self._config() if self._aborted and make in self._of_topics else make()

    def _marker(self) -> MetadataRecord:
        begin, end, abort = MARKERS
        if self._before is None:
            marker = self._pick((begin,), (end, abort))
        else:
            marker = self._pick((end, end, end, abort), (begin,))
        if marker == begin and self._before is None:
            self._before = dict(self._live)
        elif marker != begin and self._before is not None:
            if marker == abort:
                # Kafka may apply an aborted TOPIC anyway, so its name must not come twice
                taken = set(self._live.values()) - set(self._before.values())
                self._names = [name + "'" if name in taken else name for name in self._names]
                self._live, self._aborted = self._before, True
            self._before = None
        return new_record(marker, 0, {})

    def _pick(self, usual: Iterable[Any], odd: Iterable[Any], share: float = _RARELY) -> Any:
        """One of `usual`; now and then, or where `usual` is empty, one of `odd`."""
        usual = tuple(usual)
        pool = tuple(odd) if not usual or self._chance.random() < share else usual
        return self._chance.choice(pool)

    def _made(self, record_type: str, fields: dict[str, Any]) -> MetadataRecord:
        """A record of a random version, without the fields that this version lacks."""
        version = self._chance.choice(range(self._release.records[record_type] + 1))
        known = {field.name for field in RECORDS_BY_NAME[record_type].fields_at(version)}
        return new_record(record_type, version, {n: v for n, v in fields.items() if n in known})

    def _some(self, pool: tuple[Any, ...], most: int = 3) -> tuple[Any, ...]:
        return tuple(self._chance.choices(pool, k=self._chance.randint(0, most)))

    def _perhaps(self, pool: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return None if self._chance.random() < 0.5 else self._distinct(pool)

    def _distinct(self, pool: tuple[Any, ...], least: int = 0) -> tuple[Any, ...]:
        return tuple(self._chance.sample(pool, self._chance.randint(least, len(pool))))

    def _topic_id(self) -> str:
        return str(self._pick(self._live, self._gone, 0.02 if self._careless else 0))

    def _topic(self) -> MetadataRecord:
        free = [name for name in self._names if name not in self._live.values()]
        if self._live and self._chance.random() < _RARELY:
            topic_id, name = self._chance.choice(list(self._live.items()))
        elif free:
            topic_id, name = uuid_text(b"topic%010d-" % self._created), self._chance.choice(free)
            self._created += 1
        else:
            return self._partition()
        self._live[topic_id] = name
        return self._made("TOPIC_RECORD", {"name": name, "topicId": topic_id})

    def _remove_topic(self) -> MetadataRecord:
        topic_id = self._topic_id()
        if self._live.pop(topic_id, None) is not None:
            self._going.append(topic_id)
        return self._made("REMOVE_TOPIC_RECORD", {"topicId": topic_id})

    def _assignment(self, replicas: tuple[int, ...] | None) -> dict[str, Any]:
        count = 2 if replicas is None else len(replicas)
        directories = tuple(self._chance.choices(_DIRECTORIES, k=count))
        return {
            "directories": self._pick((directories,), ((), (ZERO_UUID,), _DIRECTORIES[:3]), 0.2),
            "isr": self._some(_BROKERS),
            "removingReplicas": self._some(_BROKERS, 1),
            "addingReplicas": self._some(_BROKERS, 1),
            "eligibleLeaderReplicas": self._some(_BROKERS, 2),
            "lastKnownElr": self._some(_BROKERS, 1),
        }

    def _partition(self) -> MetadataRecord:
        replicas = self._distinct(_BROKERS)
        fields = {
            **self._assignment(replicas),
            "partitionId": self._chance.choice((0, 1)),
            "topicId": self._topic_id(),
            "replicas": replicas,
            "leader": self._chance.choice((-1, *_BROKERS)),
            "leaderRecoveryState": self._pick((0, 1), (2, -1)),
            "leaderEpoch": self._pick((0, 5), (2**31 - 1,)),
            "partitionEpoch": self._pick((0, 7), (2**31 - 1,)),
        }
        return self._made("PARTITION_RECORD", fields)

    def _partition_change(self) -> MetadataRecord:
        replicas = self._pick((None,), (self._distinct(_BROKERS),), 0.3)
        changes = {
            name: value
            for name, value in {**self._assignment(replicas), "replicas": replicas}.items()
            if self._chance.random() < 0.4
        }
        fields = {
            **changes,
            "partitionId": self._pick((0, 1), (9,)),
            "topicId": self._topic_id(),
            "leader": self._chance.choice((-2, -2, -1, *_BROKERS)),
            "leaderRecoveryState": self._pick((-1, -1, 0, 1), (5,)),
        }
        return self._made("PARTITION_CHANGE_RECORD", fields)

    def _clear_elr(self) -> MetadataRecord:
        return self._made(
            "CLEAR_ELR_RECORD", {"topicName": self._chance.choice(("", *self._names))}
        )

    def _config(self) -> MetadataRecord:
        resource_type = self._chance.choice(self._release.resource_types)
        names = self._names if resource_type == 2 else ("", "1", "2")
        fields = {
            "resourceType": resource_type,
            "resourceName": self._chance.choice(names),
            "name": self._chance.choice(_CONFIGS[resource_type]),
            "value": self._chance.choice((None, "", "1", "2")),
        }
        return self._made("CONFIG_RECORD", fields)

    def _endpoints(self) -> tuple[dict[str, Any], ...]:
        return tuple(
            {
                "name": name,
                "host": "h",
                "port": self._chance.choice((0, 65535)),
                "securityProtocol": 3,
            }
            for name in self._some(("A", "B", "C"))
        )

    def _supported(self) -> tuple[dict[str, Any], ...]:
        return tuple(
            {"name": name, "minSupportedVersion": 0, "maxSupportedVersion": 1}
            for name in self._distinct(_FEATURES)
        )

    def _broker(self) -> MetadataRecord:
        fields = {
            "brokerId": self._chance.choice(_BROKERS),
            "isMigratingZkBroker": self._chance.random() < 0.2,
            "incarnationId": self._chance.choice(_DIRECTORIES),
            "brokerEpoch": self._chance.choice(_EPOCHS),
            "endPoints": self._endpoints(),
            "features": self._supported(),
            "rack": self._chance.choice((None, "", "r1")),
            "fenced": self._chance.random() < 0.5,
            "inControlledShutdown": self._chance.random() < 0.3,
            "logDirs": self._some(_DIRECTORIES),
            "cordonedLogDirs": self._perhaps(_DIRECTORIES),
        }
        return self._made("REGISTER_BROKER_RECORD", fields)

    def _broker_change(self) -> MetadataRecord:
        fields = {
            "brokerId": self._chance.choice(_BROKERS),
            "brokerEpoch": self._chance.choice(_EPOCHS),
            "fenced": self._pick((-1, 0, 1), (2, -2)),
            "inControlledShutdown": self._pick((0, 1), (-1, 2), 0.1),
            "logDirs": self._some(_DIRECTORIES),
            "cordonedLogDirs": self._perhaps(_DIRECTORIES),
        }
        return self._made("BROKER_REGISTRATION_CHANGE_RECORD", fields)

    def _fencing(self) -> MetadataRecord:
        record_type = self._chance.choice(("FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"))
        fields = {"id": self._chance.choice(_BROKERS), "epoch": self._chance.choice(_EPOCHS)}
        return self._made(record_type, fields)

    def _unregister(self) -> MetadataRecord:
        fields = {"brokerId": self._chance.choice(_BROKERS), "brokerEpoch": 10}
        return self._made("UNREGISTER_BROKER_RECORD", fields)

    def _controller(self) -> MetadataRecord:
        fields = {
            "controllerId": self._chance.choice((100, 101)),
            "incarnationId": self._chance.choice(_DIRECTORIES),
            "zkMigrationReady": self._chance.random() < 0.5,
            "endPoints": self._endpoints(),
            "features": self._supported(),
        }
        return self._made("REGISTER_CONTROLLER_RECORD", fields)

    def _unregister_controller(self) -> MetadataRecord:
        controller = self._chance.choice((100, 101))
        return self._made("UNREGISTER_CONTROLLER_RECORD", {"controllerId": controller})

    def _feature(self) -> MetadataRecord:
        name = self._chance.choice((*self._release.features, "metadata.version"))
        levels = (0, 1, 2)
        if name == "metadata.version":
            newest = self._release.newest_level
            levels = tuple(level for level in _METADATA_VERSIONS if level <= newest)
        fields = {"name": name, "featureLevel": self._chance.choice(levels)}
        return self._made("FEATURE_LEVEL_RECORD", fields)

    def _acl(self) -> MetadataRecord:
        acl_id = {"id": self._chance.choice(_ACLS)}
        if self._chance.random() < 0.4:
            return self._made("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", acl_id)
        fields = {
            **{
                "resourceType": 2,
                "resourceName": self._chance.choice(self._names),
                "patternType": 3,
            },
            **{"principal": "User:alice", "host": self._chance.choice(("*", "h"))},
            **{"operation": self._chance.choice((3, 4)), "permissionType": 3},
        }
        return self._made("ACCESS_CONTROL_ENTRY_RECORD", {**acl_id, **fields})

    def _scram(self) -> MetadataRecord:
        user = {"name": self._chance.choice(_USERS), "mechanism": self._chance.choice((1, 2))}
        if self._chance.random() < 0.4:
            return self._made("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", user)
        secrets = {name: self._chance.randbytes(2) for name in ("salt", "storedKey", "serverKey")}
        fields = {**user, **secrets, "iterations": self._chance.choice((4096, 8192))}
        return self._made("USER_SCRAM_CREDENTIAL_RECORD", fields)

    def _quota(self) -> MetadataRecord:
        entity = tuple(
            {"entityType": kind, "entityName": self._chance.choice((None, "", "alice"))}
            for kind in self._distinct(("user", "client-id", "ip"), 1)
        )
        fields = {
            "entity": entity,
            "key": self._chance.choice(("consumer_byte_rate", "request_percentage")),
            "value": self._chance.choice((0.0, -0.0, 1.5, float("nan"), float("inf"))),
            "remove": self._chance.random() < 0.3,
        }
        return self._made("CLIENT_QUOTA_RECORD", fields)

    def _token(self) -> MetadataRecord:
        token = {"tokenId": self._chance.choice(("t1", "t2"))}
        if self._chance.random() < 0.4:
            return self._made("REMOVE_DELEGATION_TOKEN_RECORD", token)
        renewers = self._distinct(("User:a", "User:b"))
        fields = {
            **{"owner": "User:alice", "requester": "User:bob", "renewers": renewers},
            **{"issueTimestamp": 1, "maxTimestamp": 3},
            "expirationTimestamp": self._chance.choice((2, 3)),
        }
        return self._made("DELEGATION_TOKEN_RECORD", {**token, **fields})

    def _singles(self) -> MetadataRecord:
        next_id = self._chance.choice((-1, 0, 1000, 2**62))
        return self._chance.choice(
            (
                self._made("PRODUCER_IDS_RECORD", {"brokerId": 1, "nextProducerId": next_id}),
                self._made("ZK_MIGRATION_STATE_RECORD", {"zkMigrationState": 2}),
                self._made("NO_OP_RECORD", {}),
            )
        )
