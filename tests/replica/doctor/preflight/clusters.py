"""Clusters made from records, for questions about changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from replica.doctor.health.cluster import Cluster
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.message.schema import Value
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay
from replica.metadata.record import new_record
from replica.model.keys import ReplicaKey

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAFQ"
Record = tuple[str, int, Mapping[str, Value]]


def image_of(records: Iterable[Record]) -> Image:
    replay = Replay()
    for offset, (name, version, fields) in enumerate(records):
        refusal = replay.apply(offset, new_record(name, version, fields))
        assert refusal is None, refusal
    return replay.image()


def features(**levels: tuple[int, int]) -> Value:
    return tuple(
        {"name": name.replace("_", "."), "minSupportedVersion": low, "maxSupportedVersion": high}
        for name, (low, high) in levels.items()
    )


def broker(
    number: int, *, fenced: bool = False, rack: str | None = None, newest: int = 27
) -> Record:
    return (
        "REGISTER_BROKER_RECORD",
        3,
        {
            "brokerId": number,
            "brokerEpoch": number,
            "fenced": fenced,
            "rack": rack,
            "features": features(metadata_version=(7, newest), kraft_version=(0, 1)),
        },
    )


def controller(number: int, *, newest: int = 27, kraft: int = 1) -> Record:
    supported = features(metadata_version=(7, newest), kraft_version=(0, kraft))
    return ("REGISTER_CONTROLLER_RECORD", 0, {"controllerId": number, "features": supported})


def level(name: str, number: int) -> Record:
    return ("FEATURE_LEVEL_RECORD", 0, {"name": name, "featureLevel": number})


def partition(
    number: int, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None, **fields: Value
) -> Record:
    in_sync = replicas if isr is None else isr
    return (
        "PARTITION_RECORD",
        2,
        {
            "partitionId": number,
            "topicId": TOPIC_ID,
            "replicas": replicas,
            "isr": in_sync,
            "leader": in_sync[0] if in_sync else -1,
            **fields,
        },
    )


def cluster(
    *records: Record,
    level_now: int = 25,
    voters: Iterable[int] = (),
    min_isr: int | None = 1,
    **more: Any,
) -> Cluster:
    """Brokers 1 to 3 and the topic `orders`, and what the records say besides."""
    first = (
        level("metadata.version", level_now),
        *(broker(number) for number in (1, 2, 3)),
        ("TOPIC_RECORD", 0, {"name": "orders", "topicId": TOPIC_ID}),
    )
    return Cluster(
        image_of((*first, *records)),
        voters=frozenset(voters),
        broker_defaults={} if min_isr is None else {"min.insync.replicas": str(min_isr)},
        **more,
    )


def known(
    *voters: int,
    doubts: Mapping[int, VoterDoubt] | None = None,
    held: Mapping[int, int] | None = None,
    **more: Any,
) -> KnownQuorum:
    """A quorum of these voters. doubts: the doubts about voters. held: how much of the log each
    holds."""
    doubts, held = doubts or {}, held or {}
    return KnownQuorum(
        tuple(KnownVoter(ReplicaKey(one), doubts.get(one), 1, 2, held.get(one)) for one in voters),
        **more,
    )
