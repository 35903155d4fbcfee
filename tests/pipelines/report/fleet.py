"""Three brokers in three racks as rows. One broker is fenced for a while. Meanwhile the quorum
changes its leader, and the old leader had written records that no other node accepted."""

from __future__ import annotations

import json
from typing import Any

from tests.pipelines.report.journeys import partition, version
from tests.pipelines.report.pages import change
from tests.pipelines.report.small_lake import CLUSTER, Rows, at, capture, replica

BROKERS = (11, 12, 13)
TOPICS = {"orders": (12, 3), "payments": (9, 3), "audit": (6, 1)}
"""By topic, the number of partitions and of replicas of each."""
_VOTERS = [{"voter_id": node, "directory_id": None} for node in (1, 2, 3)]


class _Log:
    """The history and changes of a log while it is written, with a record each second."""

    def __init__(self) -> None:
        self.history: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.offset = 0
        self._newest: dict[str, dict[str, Any]] = {}

    def write(
        self, entity: str, key: str, name: str, value: dict[str, Any], *kinds: tuple[str, Any, Any]
    ) -> None:
        """Writes a record that gives the entity a value. kinds: its changes, each with
        old and new."""
        self.offset += 1
        row = version(entity, key, name, value, (self.offset, None))
        if key in self._newest:
            self._newest[key] |= {"valid_to_offset": self.offset, "valid_to": at(self.offset)}
        self._newest[key] = row
        self.history.append(row)
        for kind, old, new in kinds:
            texts = {"old": None if old is None else json.dumps(old), "new": json.dumps(new)}
            epoch = 1 if self.offset < _SPLIT else 2
            told = {"entity": entity, "key": key, "name": name, "leader_epoch": epoch}
            self.changes.append(change(kind, self.offset, **told, **texts))


_SPLIT = 52
"""The first offset of epoch 2."""


def _broker(number: int, *, fenced: bool) -> dict[str, Any]:
    return {
        "brokerId": number, "brokerEpoch": number, "incarnationId": "AAAAAAAAAAAAAAAAAAAAAg",
        "endPoints": [], "features": [], "rack": f"zone-{'abc'[number - 11]}", "fenced": fenced,
        "inControlledShutdown": False, "isMigratingZkBroker": False, "logDirs": [],
        "cordonedLogDirs": None,
    }  # fmt: skip


def fleet() -> Rows:
    """The rows. Broker 12 is fenced from the middle on, and comes back."""
    log, held = _Log(), {}
    for number in BROKERS:
        value = _broker(number, fenced=False)
        log.write("broker", str(number), f"broker {number}", value, ("broker_registered", None, {}))
    for place, (topic, (partitions, copies)) in enumerate(TOPICS.items()):
        topic_id = f"{'ABC'[place] * 21}g"
        value = {"name": topic, "topicId": topic_id}
        log.write("topic", topic_id, topic, value, ("topic_created", None, value))
        for number in range(partitions):
            replicas = [BROKERS[(number + one) % 3] for one in range(copies)]
            value = partition(replicas[0], replicas, number, topicId=topic_id, replicas=replicas)
            held[f"{topic_id}:{number}"] = f"{topic}-{number}", value
            key = f"{topic_id}:{number}"
            log.write("partition", key, f"{topic}-{number}", value,
                      ("partition_created", None, value))  # fmt: skip
    _turn(log, held, fenced=True)
    log.offset += 4
    _turn(log, held, fenced=False)
    return {
        "bronze.captures": [capture(node, group, end=log.offset + 1)
                            for node in (1, 2, 3) for group in (1, 2)],
        "gold.leader_epoch_history": _epochs(),
        "gold.truncations": [_lost()],
        "gold.metadata_history": [*log.history],
        "gold.metadata_changes": [*log.changes, *_ghosts()],
        "gold.state_ranges": [
            {"cluster_id": CLUSTER, "from_offset": 0, "to_offset": log.offset + 1}
        ],
    }  # fmt: skip


def _turn(log: _Log, held: dict[str, tuple[str, dict[str, Any]]], *, fenced: bool) -> None:
    """Broker 12 leaves the ISR of its partitions and is fenced, or comes back."""
    kind = "broker_fenced" if fenced else "broker_unfenced"
    told = kind, not fenced, fenced
    log.write("broker", "12", "broker 12", _broker(12, fenced=fenced), told)
    for key, (name, old) in held.items():
        if 12 not in old["replicas"]:
            continue
        rest = [one for one in old["replicas"] if one != 12]
        isr = (rest or [12]) if fenced else old["replicas"]
        leader = old["leader"] if old["leader"] != 12 else rest[0] if rest else -1
        new = {**old, "isr": isr, "leader": leader if fenced else old["replicas"][0]}
        fields = ("isr", "isr_changed"), ("leader", "leader_changed")
        kinds = [
            (kind, old[field], new[field]) for field, kind in fields if old[field] != new[field]
        ]
        if kinds:
            log.write("partition", key, name, new, *kinds)
        held[key] = name, new


def _epochs() -> list[dict[str, Any]]:
    told = {"cluster_id": CLUSTER, "voters": _VOTERS, "commitment": "proven"}
    return [
        {**told, "epoch": 1, "leader_id": 2, "start_offset": 0, "end_offset": _SPLIT,
         "started_at": at(0)},
        {**told, "epoch": 2, "leader_id": 3, "start_offset": _SPLIT, "started_at": at(_SPLIT)},
    ]  # fmt: skip


def _lost() -> dict[str, Any]:
    counts = {"committed_lost": 0, "unproven_lost": 0, "superseded_lost": 3}
    run = {"from_offset": _SPLIT, "to_offset": _SPLIT + 3, "epochs": [1], "records": 3}
    return {**replica(2), **run, **counts, "last_seen": at(100), "seen_at": at(200)}


def _ghosts() -> list[dict[str, Any]]:
    topic = {"name": "refunds", "topicId": f"{'D' * 21}g"}
    value = partition(11, [11, 13], topicId=topic["topicId"], replicas=[11, 13])
    lost = {"leader_epoch": 1, "commitment": "superseded"}
    of = {**lost, "entity": "partition"}
    return [
        change("topic_created", _SPLIT, key="ghost", name="refunds", new=json.dumps(topic), **lost),
        *(
            change("partition_created", _SPLIT + one, key=f"ghost:{one}", name=f"refunds-{one - 1}",
                   new=json.dumps(value), **of)
            for one in (1, 2)
        ),
    ]  # fmt: skip
