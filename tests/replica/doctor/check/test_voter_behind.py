"""A voter whose log ends long before those of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replica.doctor.check.known_quorum import known_quorum_of
from replica.doctor.check.lineage import judge_voters
from replica.doctor.health.cluster import Lag
from replica.doctor.health.of_directories import cluster_of
from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.lacks_own import lacks_own
from replica.doctor.quorum.log_ends import COPYING_MS, LogEnd
from replica.doctor.verdict.evidence_of_directories import clusters_of
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.words import duration_text
from tests.replica.doctor.check.editing import batches, judged
from tests.replica.doctor.check.test_leader_behind import cut, nodes
from tests.replica.doctor.quorum.test_known_quorum import ONE, THREE, TWO, known, log

__all__ = ["nodes"]
RULE = "voter-behind"
LOGS = "__cluster_metadata-0/*.log"


def told(nodes: list[Path]) -> list[str]:
    return [one.message for one in judged(*nodes).findings if one.rule.id == RULE]


def cut_whole(node: Path, lacking_ms: int) -> int:
    """As `cut`, and no snapshot goes further."""
    for snapshot in (node / "__cluster_metadata-0").glob("*.checkpoint"):
        snapshot.unlink()
    return cut(node, lacking_ms)


@pytest.mark.parametrize("lacking_ms", [COPYING_MS + 1_000, COPYING_MS + 10_000, 40_000])
def test_a_voter_that_stopped_or_went_back_is_told(nodes: list[Path], lacking_ms: int) -> None:
    assert told(nodes) == []
    end = cut_whole(nodes[0], lacking_ms)
    (message,) = told(nodes)
    assert message.startswith(f"voter 1: its log goes up to offset {end - 1}, and ends ")
    assert f" UTC it lacks offsets {end} to " in message


def test_a_process_that_registered_later_is_told_as_that_alone(nodes: list[Path]) -> None:
    cut_whole(nodes[1], COPYING_MS + 5_000)
    assert told(nodes) == []
    assert "stale-voter" in {one.rule.id for one in judged(*nodes).findings}


def test_copies_that_took_some_seconds_are_no_finding(nodes: list[Path]) -> None:
    cut_whole(nodes[0], COPYING_MS - 5_000)
    assert told(nodes) == []


def lags_of(nodes: list[Path]) -> dict[int, Lag]:
    (state,) = judged(*nodes, newest=True).states
    cluster = cluster_of(state, {})
    assert cluster is not None
    return {**cluster.lags}


def test_every_answer_has_the_same_time_by_which_a_voter_is_behind(nodes: list[Path]) -> None:
    """From the last record that it has of the newest log, and not from the first that it lacks."""
    end = cut_whole(nodes[0], 40_000)
    own, *others = (batches(max(one.glob(LOGS)))[-1].header.max_timestamp for one in nodes)
    newest = max(others)
    (cluster,) = clusters_of(judged(*nodes, newest=True), {})
    (compared,) = judged(*nodes).compared
    known = {one.key.node_id: one for one in known_quorum_of(compared).voters}
    assert cluster.behind[0] is not None
    assert cluster.behind[0].ms == known[1].behind_ms == newest - own
    assert lags_of(nodes) == {1: Lag(end, newest - own)}
    assert f"ends {duration_text(newest - own)} before" in told(nodes)[0]


def test_a_voter_is_behind_whose_next_records_the_newest_log_has_in_a_snapshot(
    nodes: list[Path],
) -> None:
    for node in nodes[1:]:
        for segment in sorted(node.glob(LOGS))[:-1]:
            segment.unlink()
    for segment in sorted(nodes[0].glob(LOGS))[1:]:
        segment.unlink()
    for snapshot in nodes[0].glob("*/*.checkpoint"):
        snapshot.unlink()
    assert [*lags_of(nodes)] == [1]


def times(*at: tuple[ReplicaKey, int, int]) -> Callable[[ReplicaKey, int], int | None]:
    known = {(key, offset): ms for key, offset, ms in at}
    return lambda key, offset: known.get((key, offset))


def behind_in(*logs: ReplicaLog, **facts: Any) -> dict[int, int | None]:
    quorum = known(*logs, files=QuorumFiles(**facts))
    return {one.key.node_id: one.behind_ms for one in quorum.voters}


def test_a_voter_is_behind_from_the_last_entry_that_it_shares_with_the_newest_log() -> None:
    """Records of its own, which the others discarded, make its log no newer."""
    own = log(ONE, 2, 2)
    newest = log(TWO, 2, 3, 3), log(THREE, 2, 3, 3)
    shared, late = (ONE, 0, 1_000), (TWO, 2, 1_000 + COPYING_MS)
    found = behind_in(own, *newest, time_at=times(shared, (ONE, 1, 9_000), late))
    assert found == {1: COPYING_MS, 2: None, 3: None}
    other = (TWO, 0, 1_000)  # its own log begins behind this entry
    assert behind_in(own, *newest, time_at=times(other, late))[1] == COPYING_MS
    assert behind_in(own, *newest, time_at=times(shared))[1] is None


def test_what_only_a_leader_can_have_written_is_told_as_that_alone() -> None:
    ends = [LogEnd(ONE, 3, 1, 0, is_leader=True), LogEnd(TWO, 3, 2, COPYING_MS, is_leader=False)]
    files = QuorumFiles(lacks_own=lacks_own(ends), time_at=times((ONE, 0, 0), (TWO, 1, COPYING_MS)))
    quorum = known(log(ONE, 3), log(TWO, 3, 3), log(THREE, 3, 3), files=files)
    assert [one.rule.id for _, one in judge_voters(quorum)] == ["leader-lacks-own-records"]
