"""Invented clusters for the rules of health, made from records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replica.doctor.check.rule import Finding
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.judging import judge_health
from replica.format.control import KRaftVersion, KRaftVoters
from replica.message.primitives import uuid_text
from replica.message.schema import Value
from replica.metadata.record import MetadataRecord, new_record
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from replica.severity import Severity
from tests.replica.metadata.image.made import DIRECTORY, TOPIC, after, broker, feature, topic

RELEASES = {"4.1-IV1": 27, "4.3-IV0": 30, "4.4-IV2": 33}
CONTROLLER_PORT = 9093


def directory_of(broker_id: int) -> str:
    """The id of the one log directory of a broker."""
    return uuid_text(f"directory-{broker_id:06}".encode())


def features_up_to(level: int) -> tuple[dict[str, Value], ...]:
    """The features of a node that supports metadata.version from 7 to this level."""
    return (
        {"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": level},
        {"name": "kraft.version", "minSupportedVersion": 0, "maxSupportedVersion": 1},
    )


def a_broker(
    broker_id: int, *, level: int = 27, fenced: bool = False, **fields: Value
) -> MetadataRecord:
    """A registered broker with one directory, by default not fenced."""
    usual: dict[str, Value] = {
        "fenced": fenced,
        "logDirs": (directory_of(broker_id),),
        "features": features_up_to(level),
    }
    return broker(broker_id, **{**usual, **fields})


def a_controller(
    controller_id: int, *, level: int = 27, port: int = CONTROLLER_PORT
) -> MetadataRecord:
    """A registered controller. Controller N is at the host cN."""
    return new_record(
        "REGISTER_CONTROLLER_RECORD",
        0,
        {
            "controllerId": controller_id,
            "incarnationId": DIRECTORY,
            "zkMigrationReady": False,
            "endPoints": (
                {"name": "CONTROLLER", "host": f"c{controller_id}", "port": port,
                 "securityProtocol": 0},
            ),
            "features": features_up_to(level),
        },
    )  # fmt: skip


def voters(*ids: int) -> KRaftVoters:
    """A voter set of these node ids. Voter N is at the host cN."""
    return KRaftVoters(
        0,
        tuple(
            Voter(
                ReplicaKey(one, uuid_text(f"voter-{one:010}".encode())),
                (Endpoint("CONTROLLER", f"c{one}", CONTROLLER_PORT),), 0, 1,
            )
            for one in ids
        ),
    )  # fmt: skip


def a_partition(
    number: int = 0,
    replicas: Sequence[int] = (11, 12, 13),
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    topic_id: str = TOPIC,
    **fields: Value,
) -> MetadataRecord:
    """A partition with all replicas in sync, led by the first replica. Each replica is in its
    broker's directory."""
    usual: dict[str, Value] = {
        "partitionId": number,
        "topicId": topic_id,
        "replicas": tuple(replicas),
        "isr": tuple(replicas if isr is None else isr),
        "leader": replicas[0] if leader is None else leader,
        "leaderEpoch": 1,
        "partitionEpoch": 1,
        "directories": tuple(directory_of(one) for one in replicas),
    }
    return new_record("PARTITION_RECORD", 2, {**usual, **fields})


def healthy(level: int = 27) -> list[Any]:
    """Three controllers that are voters, three brokers, and the topic orders with one partition."""
    return [
        feature("metadata.version", level),
        KRaftVersion(0, 1),
        voters(1, 2, 3),
        *(a_controller(one, level=level) for one in (1, 2, 3)),
        *(a_broker(one, level=level) for one in (11, 12, 13)),
        topic(),
        a_partition(),
    ]


def cluster_after(records: Iterable[Any], **more: Any) -> Cluster:
    """The cluster after these records, at offsets 0, 1, 2 and so on. Asserts that
    none is refused."""
    made = list(records)
    image, refusals = after(*made)
    assert not refusals
    ids = frozenset(one.key.node_id for one in image.tables["voters"].values.get("", ()))
    return Cluster(image, **{"end_offset": len(made), "voters": ids, **more})


def judged(records: Iterable[Any], **more: Any) -> dict[str, Finding]:
    """The findings by rule."""
    found = judge_health(cluster_after(records, **more))
    by_rule = {finding.rule.id: finding for finding in found}
    assert len(by_rule) == len(found), "one finding of each rule"
    return by_rule


def names(finding: Finding) -> list[str]:
    return [subject.name for subject in finding.subjects]


def above_notes(found: dict[str, Finding]) -> list[str]:
    return sorted(name for name, one in found.items() if one.severity is not Severity.INFO)
