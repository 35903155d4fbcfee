"""kraftlake's own tables as a value. `make kafka-drift` compares them with Kafka's classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from replica.doctor.startup.known_settings import Kind, Release, kind_of
from replica.format.control import (
    ControlMessage,
    ControlType,
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    SnapshotFooter,
    SnapshotHeader,
    to_plain,
)
from replica.format.control_records import CONTROL_RECORDS
from replica.format.quorum_state import MANDATORY as QUORUM_STATE_FIELDS
from replica.format.quorum_state import new_state
from replica.message.schema import RecordSchema
from replica.metadata.changes.readers import Reader, reader_of
from replica.metadata.changes.releases import METADATA_CHANGES, NEWEST_LEVELS, RELEASES
from replica.metadata.image.settings import KEPT_CONFIGS
from replica.metadata.image.snapshot import _SINCE as RECORDS_SINCE
from replica.metadata.known_configs import KNOWN_CONFIGS
from replica.metadata.records import NEWEST_KAFKA, RECORDS
from replica.metadata.redact import is_secret_config
from replica.metadata.topic_configs import TOPIC_CONFIGS, TopicConfig
from replica.model.kafka_errors import DRAFT_ERRORS, ErrorCode
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint, Voter
from replica.node.properties import Properties
from replica.node.settings import settings_in
from replica.wire.apis import APIS
from replica.wire.schema import Api
from tests.drift.known import ANSWERS, FEATURES

CHANGES_QUESTION = "didMetadataChange"
"""The method of MetadataVersion that METADATA_CHANGES answers."""
_OLDEST_LEVEL = 7


def configs_read() -> dict[str, str]:
    """The keys of server.properties that a replica reads, each with its default as text, "" for
    none. They are found by reading the settings of a replica from a minimal file."""
    must = {
        "node.id": "1",
        "process.roles": "controller",
        "controller.quorum.bootstrap.servers": "host:1",
        "listeners": "CONTROLLER://host:1",
        "log.dirs": "/folder",
    }
    read: dict[str, str] = {}
    settings_in(_Listening(must, read))
    return {key: default for key, default in read.items() if not key.startswith("kraftlake.")}


def answers() -> dict[str, dict[int, object]]:
    """ANSWERS together with the answers of our tables: the versions and types of records that a
    snapshot holds at a level, and the levels that changed records."""
    found = dict(ANSWERS)
    for question, record in _RECORD_VERSIONS.items():
        since = reversed(RECORDS_SINCE[record])
        found[question] = {max(level, _OLDEST_LEVEL): version for level, version in since}
    for question, record in _RECORD_TYPES.items():
        ((level, _),) = RECORDS_SINCE[record]
        found[question] = {level: True}
    known = (level for level in RELEASES if level >= _OLDEST_LEVEL)
    found[CHANGES_QUESTION] = {level: level in METADATA_CHANGES for level in known}
    return found


_RECORD_VERSIONS = {
    "registerBrokerRecordVersion": "REGISTER_BROKER_RECORD",
    "partitionRecordVersion": "PARTITION_RECORD",
}
_RECORD_TYPES = {
    "isMigrationSupported": "ZK_MIGRATION_STATE_RECORD",
    "isScramSupported": "USER_SCRAM_CREDENTIAL_RECORD",
    "isDelegationTokenSupported": "DELEGATION_TOKEN_RECORD",
    "isControllerRegistrationSupported": "REGISTER_CONTROLLER_RECORD",
}

SNAPSHOT_QUESTIONS = frozenset({*_RECORD_VERSIONS, *_RECORD_TYPES})
"""Methods of MetadataVersion that the table of a snapshot's content answers."""

_VOTER = LeaderVoter(1, ZERO_UUID)
CONTROL_MESSAGES: dict[str, tuple[ControlType, Callable[[int], ControlMessage]]] = {
    "LeaderChangeMessage": (
        ControlType.LEADER_CHANGE,
        lambda version: LeaderChange(
            version, 1, *((_VOTER if version else LeaderVoter(1),) for _ in range(2))
        ),
    ),
    "SnapshotHeaderRecord": (ControlType.SNAPSHOT_HEADER, lambda v: SnapshotHeader(v, 0)),
    "SnapshotFooterRecord": (ControlType.SNAPSHOT_FOOTER, SnapshotFooter),
    "KRaftVersionRecord": (ControlType.KRAFT_VERSION, lambda v: KRaftVersion(v, 1)),
    "VotersRecord": (
        ControlType.KRAFT_VOTERS,
        lambda v: KRaftVoters(v, (Voter(ReplicaKey(1, ZERO_UUID), (Endpoint("", "", 0),), 0, 1),)),
    ),
}


_CONTROL_VERSIONS = {schema.api_key: schema.versions for schema in CONTROL_RECORDS}


def written_fields() -> dict[str, dict[int, frozenset[str]]]:
    """The paths of the fields that our code writes of each control record and of quorum-state, by
    version."""
    found = {
        name: {version: _paths(to_plain(example(version))) for version in _CONTROL_VERSIONS[kind]}
        for name, (kind, example) in CONTROL_MESSAGES.items()
    }
    state = {
        version: new_state(version=version, leader_id=1, leader_epoch=1, current_voters=(1,))
        for version in QUORUM_STATE_FIELDS
    }
    in_file = {v: _paths(dict(each.fields)) - {"data_version"} for v, each in state.items()}
    return {**found, "QuorumStateData": in_file}


def _paths(value: object, above: str = "") -> frozenset[str]:
    if isinstance(value, list):
        return frozenset().union(*(_paths(each, above) for each in value))
    if not isinstance(value, dict):
        return frozenset()
    inner = (_paths(each, f"{above}{name}.") for name, each in value.items())
    return frozenset(f"{above}{name}" for name in value).union(*inner)


@dataclass(frozen=True)
class Tables:
    """The content of each table, so that a test can remove something.

    error_names: by number.
    releases: by level.
    newest_levels, readers: by release.
    controls: the numbers of control record types.
    is_secret: whether the value of a config is redacted.
    kept_configs: by resource type.
    known_configs: configs whose values are shown.
    settings: the kind of a node's setting in a release.
    """

    records: tuple[RecordSchema, ...] = RECORDS
    apis: Mapping[int, Api] = field(default_factory=lambda: dict(APIS))
    error_names: Mapping[int, str] = field(
        default_factory=lambda: {
            int(code): code.name for code in ErrorCode if code not in DRAFT_ERRORS
        }
    )
    releases: Mapping[int, str] = field(default_factory=lambda: dict(RELEASES))
    newest_kafka: str = NEWEST_KAFKA
    newest_levels: Mapping[str, int] = field(default_factory=lambda: dict(NEWEST_LEVELS))
    readers: Mapping[str, Reader] = field(
        default_factory=lambda: {release: reader_of(release) for release in NEWEST_LEVELS}
    )
    features: Mapping[str, int] = field(default_factory=lambda: dict(FEATURES))
    answers: Mapping[str, Mapping[int, object]] = field(default_factory=answers)
    controls: Mapping[str, int] = field(
        default_factory=lambda: {kind.name: int(kind) for kind in ControlType}
    )
    written: Mapping[str, Mapping[int, frozenset[str]]] = field(default_factory=written_fields)
    configs: Mapping[str, str] = field(default_factory=configs_read)
    is_secret: Callable[[str], bool] = is_secret_config
    kept_configs: Mapping[int, frozenset[str]] = field(default_factory=lambda: dict(KEPT_CONFIGS))
    known_configs: frozenset[str] = KNOWN_CONFIGS
    settings: Callable[[str, Release], Kind | None] = kind_of
    topic_configs: tuple[TopicConfig, ...] = TOPIC_CONFIGS


class _Listening(Properties):
    """Properties that record which keys are read, and with which default."""

    def __init__(self, values: Mapping[str, str], read: dict[str, str], prefix: str = "") -> None:
        super().__init__("server.properties", values, prefix)
        self._read = read

    def with_prefix(self, prefix: str) -> Properties:
        return _Listening(self._values, self._read, prefix)

    def text(self, key: str, default: str = "") -> str:
        self._read[key] = self._read.get(key) or default
        return super().text(key, default)
