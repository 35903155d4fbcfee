"""A small cluster's history as rows: a broker is fenced, its partitions lose their leader, and a
topic that no other node accepted is lost."""

from __future__ import annotations

import json
from typing import Any

from tests.pipelines.report.incidents import split
from tests.pipelines.report.pages import change
from tests.pipelines.report.small_lake import CLUSTER, Rows, at, together

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"
ENDS = 15
"""The end offset of the newest state, exclusive."""


def version(
    entity: str, key: str, name: str, value: dict[str, Any], span: tuple[int, int | None]
) -> dict[str, Any]:
    """A row of gold.metadata_history, valid from the first offset of the span to the second."""
    first, last = span
    return {
        **{"cluster_id": CLUSTER, "entity": entity, "key": key, "name": name},
        "value": json.dumps(value),
        **{"valid_from_offset": first, "valid_from": at(first), "record_offset": first},
        **{"valid_to_offset": last, "valid_to": None if last is None else at(last)},
    }


def partition(leader: int, isr: list[int], number: int = 0, **more: Any) -> dict[str, Any]:
    """A partition's value, with replicas 11 and 12."""
    return {
        **{"topicId": TOPIC_ID, "partitionId": number, "leader": leader, "isr": isr},
        **{"replicas": [11, 12], "addingReplicas": [], "removingReplicas": []},
        **{"leaderEpoch": 0, "partitionEpoch": 0, "leaderRecoveryState": 0},
        **{"directories": [], "eligibleLeaderReplicas": [], "lastKnownElr": [], **more},
    }


def broker(number: int, *, fenced: bool) -> dict[str, Any]:
    """A broker's value."""
    return {
        **{"brokerId": number, "brokerEpoch": 1, "incarnationId": TOPIC_ID, "endPoints": []},
        **{"features": [], "rack": None, "fenced": fenced, "inControlledShutdown": False},
        **{"isMigratingZkBroker": False, "logDirs": [], "cordonedLogDirs": None},
    }


def journey(*, topic: str = "orders", config: str = "user-secret") -> Rows:
    """The rows. Offsets 1 to 5: two brokers, a topic and its two partitions. 10: a topic on the
    superseded branch. 12: broker 11 is fenced. 13: its partition is without leader."""
    key = f"{TOPIC_ID}:"
    name = {"name": topic, "topicId": TOPIC_ID}
    history = [
        *(version("broker", f"{n}", f"broker {n}", broker(n, fenced=False), (n - 10, to))
          for n, to in ((11, 12), (12, None))),
        version("broker", "11", "broker 11", broker(11, fenced=True), (12, None)),
        version("topic", TOPIC_ID, topic, name, (3, None)),
        version("partition", f"{key}0", f"{topic}-0", partition(11, [11, 12]), (4, 13)),
        version("partition", f"{key}0", f"{topic}-0", partition(-1, [11]), (13, None)),
        version("partition", f"{key}1", f"{topic}-1", partition(12, [11, 12], 1), (5, None)),
    ]  # fmt: skip
    of_partition = {"entity": "partition", "key": f"{key}0", "name": f"{topic}-0"}
    created = json.dumps(partition(11, [11, 12]))
    of_user = {"entity": "scram", "key": "u", "name": "alice SCRAM-SHA-256"}
    changes = [
        *(change("broker_registered", n - 10, entity="broker", key=f"{n}", name=f"broker {n}",
                 new=json.dumps(broker(n, fenced=False))) for n in (11, 12)),
        change("topic_created", 3, key=TOPIC_ID, name=topic, new=json.dumps(name)),
        change("partition_created", 4, **of_partition, new=created),
        change("partition_created", 5, **{**of_partition, "name": f"{topic}-1"}, new=created),
        change("scram_credential_set", 7, **of_user, new=json.dumps({"salt": config})),
        change("broker_fenced", 12, entity="broker", key="11", name="broker 11",
               old="false", new="true"),
        change("leader_changed", 13, **of_partition, old="11", new="-1"),
        change("isr_changed", 13, **of_partition, old="[11,12]", new="[11]"),
        change("topic_created", 10, key="g", name="ghost", leader_epoch=1,
               commitment="superseded", new=json.dumps({"name": "ghost", "topicId": "g"})),
    ]  # fmt: skip
    ranges = [{"cluster_id": CLUSTER, "from_offset": 0, "to_offset": ENDS}]
    return together(
        split(healed=True),
        {
            "gold.metadata_history": history,
            "gold.metadata_changes": changes,
            "gold.state_ranges": ranges,
        },
    )
