"""A voter whose log ends long before those of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.check.lineage import judge_voters
from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.lacks_own import lacks_own
from replica.doctor.quorum.log_ends import COPYING_MS, LogEnd, behind_ms
from tests.replica.doctor.check.editing import judged
from tests.replica.doctor.check.test_leader_behind import cut, nodes
from tests.replica.doctor.quorum.test_known_quorum import ONE, THREE, TWO, known, log

__all__ = ["nodes"]
RULE = "voter-behind"


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


def test_a_process_that_registered_later_is_told_as_that_alone(nodes: list[Path]) -> None:
    cut_whole(nodes[1], COPYING_MS + 5_000)
    assert told(nodes) == []
    assert "stale-voter" in {one.rule.id for one in judged(*nodes).findings}


def test_copies_that_took_some_seconds_are_no_finding(nodes: list[Path]) -> None:
    cut_whole(nodes[0], COPYING_MS - 5_000)
    assert told(nodes) == []


def test_where_a_snapshot_goes_on_nobody_knows_how_far_a_voter_is_behind() -> None:
    late = LogEnd(TWO, 3, 9, COPYING_MS, is_leader=True)
    assert behind_ms([LogEnd(ONE, 3, 5, 0, is_leader=False), late]) == {ONE: COPYING_MS}
    assert behind_ms([LogEnd(ONE, 3, 5, 0, is_leader=False, is_last=False), late]) == {}


def test_what_only_a_leader_can_have_written_is_told_as_that_alone() -> None:
    ends = [LogEnd(ONE, 3, 1, 0, is_leader=True), LogEnd(TWO, 3, 2, COPYING_MS, is_leader=False)]
    files = QuorumFiles(lacks_own=lacks_own(ends), behind_ms=behind_ms(ends))
    quorum = known(log(ONE, 3), log(TWO, 3, 3), log(THREE, 3, 3), files=files)
    assert [one.rule.id for _, one in judge_voters(quorum)] == ["leader-lacks-own-records"]
