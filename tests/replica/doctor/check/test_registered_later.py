"""A controller's disk that is older than its own process: that has registered since."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.registered_later import REGISTERING_MS
from tests.replica.doctor.check.editing import FOLDER, batches, judged
from tests.replica.doctor.check.test_known_quorum import doubts, known
from tests.replica.doctor.check.test_leader_behind import nodes
from tests.replica.doctor.check.test_voter_behind import cut_whole

__all__ = ["nodes"]
RESTARTED, REGISTERED = 2, 3660
"""A follower, and the offset at which its last process registered."""
BEGAN = 1526
"""The offset at which the last epoch began, in which that process registered."""


def told(nodes: list[Path]) -> list[str]:
    return [one.message for one in judged(*nodes).findings if one.rule.id == "stale-voter"]


def cut_before_registering(node: Path, by_ms: int) -> int:
    """Let a log end so much before the registration. Returns its new end (exclusive)."""
    segments = sorted((node / FOLDER).glob("*.log"))
    held = [one.header for each in segments for one in batches(each)]
    (registered,) = (one for one in held if one.base_offset <= REGISTERED < one.next_offset)
    return cut_whole(node, held[-1].max_timestamp - registered.max_timestamp + by_ms)


def test_a_follower_s_disk_that_is_older_than_its_process_is_told(nodes: list[Path]) -> None:
    assert told(nodes) == []
    end = cut_before_registering(nodes[RESTARTED - 1], REGISTERING_MS + 1_000)
    (message,) = told(nodes)
    assert message.startswith(
        f"voter {RESTARTED}: its log goes up to offset {end - 1}, and its process registered at "
        f"offset {REGISTERED}, "
    )
    quorum = known(*nodes)
    assert doubts(quorum) == {1: None, 2: VoterDoubt.STALE, 3: None}
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert stale.held_end is None
    assert stale.why_doubted.endswith(": restored from an older copy, or copied earlier")


def test_a_log_that_ends_in_an_earlier_epoch_is_older_too(nodes: list[Path]) -> None:
    """The leader of the registration had led for a while: whatever it held, the process had."""
    held = batches(nodes[0] / FOLDER / f"{1262:020d}.log")
    (began,) = (one.header for one in held if one.header.base_offset == BEGAN)
    newest = batches(max((nodes[RESTARTED - 1] / FOLDER).glob("*.log")))[-1].header
    end = cut_whole(nodes[RESTARTED - 1], newest.max_timestamp - began.max_timestamp + 1_000)
    assert end <= BEGAN
    (message,) = told(nodes)
    assert message.startswith(
        f"voter {RESTARTED}: its log goes up to offset {end - 1}, and its process registered at "
    )


@pytest.mark.parametrize("node_id", [1, 2])
def test_other_followers_and_the_time_of_an_rpc_are_no_finding(
    nodes: list[Path], node_id: int
) -> None:
    by_ms = REGISTERING_MS + 1_000 if node_id != RESTARTED else REGISTERING_MS - 1_000
    cut_before_registering(nodes[node_id - 1], by_ms)
    assert told(nodes) == []
