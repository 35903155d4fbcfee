"""Groups of thousands of directories: the work grows with their number, not with its square."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replica.doctor.check import group as grouping
from replica.doctor.check import known_quorum
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group_member import GroupMember
from replica.doctor.check.membership import judge_membership
from replica.format.discovery import discover
from replica.history import commitment
from replica.history.log import LogBatch, ReplicaLog
from replica.model.keys import ReplicaId, ReplicaKey

_DATA = Path(__file__).parents[3] / "data"
_CLUSTER = "kWkWkWkWkWkWkWkWkWkWkQ"


def _counted(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> tuple[list[int], Callable[..., Any]]:
    """How often a function of a module is called."""
    calls = [0]
    original = getattr(module, name)

    def counted(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, counted)
    return calls, original


def _node(folder: Path, number: int, *, cluster: str | None = _CLUSTER, log: bool = False) -> Path:
    node = folder / f"node{number}"
    (node / "__cluster_metadata-0").mkdir(parents=True)
    (node / "__cluster_metadata-0/quorum-state").write_text(
        '{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
        '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    if cluster is not None:
        (node / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster}\nnode.id={number}\n"
        )
    if log:
        source = _DATA / "kafka-4.1.1-dynamic/final/2/__cluster_metadata-0"
        segment = min(source.glob("*.log"))
        (node / "__cluster_metadata-0" / segment.name).write_bytes(segment.read_bytes()[:400])
    return node


def _group(folder: Path) -> list[Examined]:
    return [examine(found) for found in discover([str(folder)])]


@pytest.mark.parametrize("cluster", [None, _CLUSTER])
def test_directories_without_a_log_are_compared_with_no_other(
    cluster: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        _node(tmp_path, number, cluster=cluster)
    group = _group(tmp_path)
    clusters, _ = _counted(monkeypatch, grouping, "cluster_id_of")
    compared, _ = _counted(monkeypatch, commitment, "compare")
    judged = grouping.judge_group(group)
    assert len(judged.members) == 60
    assert clusters[0] <= 3 * 60
    assert compared[0] == 0


def test_of_more_logs_than_are_compared_the_rest_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_quorum, "MAX_COMPARED", 5)
    for number in range(12):
        _node(tmp_path, number, log=True)
    group = _group(tmp_path)
    compared, _ = _counted(monkeypatch, commitment, "compare")
    (found,) = [
        one for one in grouping.judge_group(group).findings if one.rule.id == "group-too-large"
    ]
    assert compared[0] == 5 * 4 // 2
    assert found.file == str(tmp_path / "node5/__cluster_metadata-0")
    assert "and 6 more of its cluster" in found.message


def test_as_many_logs_as_are_compared_are_no_large_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_quorum, "MAX_COMPARED", 5)
    for number in range(5):
        _node(tmp_path, number, log=True)
    judged = grouping.judge_group(_group(tmp_path))
    assert [one.rule.id for one in judged.findings if one.rule.id == "group-too-large"] == []


def test_clusters_with_one_record_in_common_have_a_finding_each_and_not_one_for_each_pair() -> None:
    first, own = LogBatch(0, 9, 1, "bytes"), LogBatch(0, 9, 1, "other bytes")
    members = [_member(number, first) for number in range(500)] + [_member(999, own)]
    found = [(member.replica.node_id, finding) for member, finding in judge_membership(members)]
    assert [node for node, _ in found] == list(range(1, 500))
    assert {finding.rule.id for _, finding in found} == {"cluster-id-mismatch"}
    assert all("node0 of cluster cluster000" in finding.message for _, finding in found)


def test_a_log_that_holds_the_beginning_of_another_cluster_s_later_on_is_told() -> None:
    shared = LogBatch(70, 79, 3, "shared")
    long = _member(1, LogBatch(0, 9, 1, "a"))
    long = dataclasses.replace(long, entries={0: LogBatch(0, 9, 1, "a"), 70: shared})
    told = list(judge_membership([long, _member(2, shared)]))
    assert [(member.replica.node_id, found.offset) for member, found in told] == [(2, 70)]


def _member(number: int, first: LogBatch) -> GroupMember:
    replica = ReplicaId(f"cluster{number:03}", number, f"directory{number}")
    names = (f"node{number}", f"node{number}/meta.properties", "quorum-state", "0-0.checkpoint")
    offset = first.base_offset
    return GroupMember(replica, *names, first_offset=offset, entries={offset: first})


def test_a_log_that_holds_nothing_has_no_verdicts_and_changes_nobody_else_s() -> None:
    batches = (LogBatch(0, 4, 1, "a"), LogBatch(5, 9, 1, "b"))
    logs = [ReplicaLog(ReplicaKey(n, f"d{n}"), 0, batches[:n], (), 1, ()) for n in (1, 2)]
    empty = [ReplicaLog(ReplicaKey(n, f"d{n}"), 0, (), (), 1, ()) for n in range(3, 9)]
    alone, together = commitment.classify(logs), commitment.classify([*logs, *empty])
    assert together.proofs == alone.proofs
    assert {key: together.verdicts[key] for key in alone.verdicts} == alone.verdicts
    assert all(together.verdicts[log.key] == () for log in empty)
