"""A split of three voters as rows: node 2 continues alone at offset 10, and then is healed or
isn't."""

from __future__ import annotations

from typing import Any

from tests.pipelines.report.small_lake import (
    CLUSTER,
    Rows,
    at,
    capture,
    epoch,
    held,
    replica,
    together,
)

TOPIC = {"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAg"}
_VOTERS = [{"voter_id": node, "directory_id": None} for node in (1, 2, 3)]


def split(*, topic: dict[str, Any] | None = None, healed: bool = False) -> Rows:
    """Group 1: all nodes hold offsets 0 to 9 of epoch 1. Group 2: node 2, the leader of epoch 1,
    holds 10 and 11 of epoch 1, the others 10 to 14 of epoch 2. healed: whether in group 3 all hold
    10 to 14 of epoch 2. topic: of the record at offset 10 on node 2."""
    last = 3 if healed else 2
    parts: list[Rows] = [
        {
            "bronze.captures": [capture(node, 1) for node in (1, 2, 3)],
            "silver.leader_epochs": [epoch(node, 1, 1, 0, 10, 1) for node in (1, 2, 3)],
            "gold.leader_epoch_history": _history(),
        },
        _looked_at(2, diverged=True),
        {"gold.divergence_points": [_pair(1, latest=not healed), _pair(3, latest=not healed)]},
        *(held(node, offset, 1, (1, last)) for node in (1, 2, 3) for offset in (8, 9)),
        *(held(node, offset, 2, (2, last)) for node in (1, 3) for offset in range(10, 15)),
        *_alone(topic or TOPIC, healed=healed),
    ]
    if healed:
        parts += [_looked_at(3, diverged=False), _truncated(), _agreeing()]
        parts += [held(2, offset, 2, (3, 3)) for offset in range(10, 15)]
    return together(*parts)


def _history() -> list[dict[str, Any]]:
    first = {"epoch": 1, "leader_id": 2, "start_offset": 0, "end_offset": 10, "started_at": at(0)}
    second = {"epoch": 2, "leader_id": 3, "start_offset": 10, "started_at": at(10)}
    told = {"cluster_id": CLUSTER, "voters": _VOTERS, "commitment": "proven"}
    return [{**told, **first}, {**told, **second}]


def _looked_at(group: int, *, diverged: bool) -> Rows:
    captures, epochs = [], []
    for node in (1, 2, 3):
        alone = diverged and node == 2
        end = 12 if alone else 15
        captures.append(capture(node, group, end=end))
        epochs.append(epoch(node, group, 1, 0, end if alone else 10, 2))
        if not alone:
            epochs.append(epoch(node, group, 2, 10, end, 3))
    return {"bronze.captures": captures, "silver.leader_epochs": epochs}


def _pair(other: int, *, latest: bool) -> dict[str, Any]:
    a, b = sorted((2, other))
    return {
        "cluster_id": CLUSTER,
        "capture_group": "group-2",
        **{"node_a": a, "directory_a": replica(a)["directory_id"], "epoch_a": 1 if a == 2 else 2},
        **{"node_b": b, "directory_b": replica(b)["directory_id"], "epoch_b": 1 if b == 2 else 2},
        "is_latest": latest,
        "relation": "diverged",
        "divergence_offset": 10,
        "truncating_node": 2,
        "truncation_offset": 10,
        "fetch_rounds": 1,
        **{"records_lost": 2, "committed_lost": 0, "unproven_lost": 0, "superseded_lost": 2},
    }


def _alone(topic: dict[str, Any], *, healed: bool) -> list[Rows]:
    gone = {"truncated_at": at(300)} if healed else {}
    return [
        held(2, 10, 1, (2, 2), record_type="TOPIC_RECORD", payload=topic, **gone),
        held(2, 11, 1, (2, 2), **gone),
    ]


def _truncated() -> Rows:
    lost = {"committed_lost": 0, "unproven_lost": 0, "superseded_lost": 2}
    run = {"from_offset": 10, "to_offset": 12, "epochs": [1], "records": 2}
    seen = {"last_seen": at(200), "seen_at": at(300)}
    return {"gold.truncations": [{**replica(2), **run, **lost, **seen}]}


def _agreeing() -> Rows:
    pairs = []
    for a, b in ((1, 2), (1, 3), (2, 3)):
        who = {"node_a": a, "directory_a": f"d{a}", "node_b": b, "directory_b": f"d{b}"}
        group = {"cluster_id": CLUSTER, "capture_group": "group-3", "is_latest": True}
        pairs.append({**group, **who, "relation": "identical"})
    return {"gold.divergence_points": pairs}
