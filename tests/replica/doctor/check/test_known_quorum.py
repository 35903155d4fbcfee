"""What recorded directories, and such that were mixed up, prove about their quorum."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import judge_group
from replica.doctor.check.known_quorum import each_round
from replica.doctor.check.newest import ClusterState, newest_states
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.format.discovery import discover
from replica.format.quorum_state import FILE_NAME as QUORUM_STATE
from tests.replica.doctor.check.editing import (
    append,
    edit_quorum_state,
    file,
    judged,
    metadata,
    segment,
)

DATA = Path(__file__).parents[3] / "data"
DYNAMIC, STATIC, NEWEST = "kafka-4.1.1-dynamic", "kafka-3.7.2-static", "kafka-4.4.0-dynamic"


def copied(to: Path, scenario: str, captures: Mapping[int, str]) -> list[Path]:
    """A copy of these nodes, each from one of the scenario's captures."""
    for node, capture in captures.items():
        shutil.copytree(DATA / scenario / capture / str(node), to / str(node))
    return [to / str(node) for node in captures]


def newest(*nodes: Path) -> ClusterState:
    found = discover([str(node) for node in nodes])
    (state,) = newest_states([examine(each) for each in found])
    return state


def known(*nodes: Path) -> KnownQuorum:
    quorum = newest(*nodes).quorum
    assert quorum is not None
    assert quorum == judged(*nodes, newest=True).states[0].quorum, "check says the same"
    return quorum


def doubts(quorum: KnownQuorum) -> dict[int, VoterDoubt | None]:
    return {voter.key.node_id: voter.doubt for voter in quorum.voters}


@pytest.mark.parametrize("scenario", [DYNAMIC, STATIC, NEWEST])
@pytest.mark.parametrize("capture", ["live", "split", "final"])
def test_no_voter_of_a_recorded_cluster_is_in_doubt(
    tmp_path: Path, scenario: str, capture: str
) -> None:
    quorum = known(*copied(tmp_path, scenario, dict.fromkeys((1, 2, 3), capture)))
    assert doubts(quorum) == {1: None, 2: None, 3: None}
    assert quorum.has_majority
    assert not quorum.is_conflicting
    assert quorum.proven_end <= quorum.possible_end <= quorum.log_end


@pytest.mark.parametrize(
    ("scenario", "own", "attested"), [(DYNAMIC, 5, 6), (STATIC, 7, 8), (NEWEST, 3, 4)]
)
def test_a_voter_restored_from_an_older_copy_has_forgotten_what_the_others_attest(
    tmp_path: Path, scenario: str, own: int, attested: int
) -> None:
    # Node 3 led the last epoch; its disk is of before that.
    quorum = known(*copied(tmp_path, scenario, {1: "final", 2: "final", 3: "live"}))
    assert doubts(quorum) == {1: None, 2: None, 3: VoterDoubt.STALE}
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert (stale.known_epoch, stale.attested_epoch) == (own, attested)
    assert quorum.has_majority
    (found,) = (one for one in judged(tmp_path).findings if one.rule.id == "stale-voter")
    assert (found.epoch, Path(found.file)) == (own, tmp_path / "3/__cluster_metadata-0")
    told = f"voter 3: its directory is of epoch {own}, and it led or voted in epoch {attested}; "
    assert found.message.startswith(f"{told}since 20")
    lacks = f" UTC it lacks offsets {stale.disk_end} to {quorum.log_end - 1}; it may vote a second "
    assert f"{lacks}time in an epoch in which it voted already" in found.message
    assert stale.disk_end
    alone = known(*(tmp_path / node for node in ("1", "3")))
    assert not alone.has_majority, "one voter of three can be relied on"


def looked_at(*nodes: Path) -> list[Examined]:
    return [examine(each) for each in discover([str(node) for node in nodes])]


def test_a_voter_whose_disk_went_back_is_named_beside_an_earlier_look(tmp_path: Path) -> None:
    """2 did not vote in the last epochs. Its process registered later, which shows that its disk is
    old; an earlier look shows how old."""
    before = copied(tmp_path / "before", DYNAMIC, dict.fromkeys((1, 2, 3), "final"))
    now = copied(tmp_path / "now", DYNAMIC, {1: "final", 2: "live", 3: "final"})
    (stale,) = known(*now).in_doubt(VoterDoubt.STALE)
    assert (stale.key.node_id, stale.attested_epoch, stale.went_back) == (2, 5, None)
    assert stale.registered_later is not None
    looks = looked_at(*before), looked_at(*now)
    *_, (earlier, _) = each_round(looks)
    judged_now = judge_group(looks[1], newest=True, earlier=earlier)
    (found,) = (one for one in judged_now.findings if one.rule.id == "replica-went-back")
    assert Path(found.file) == tmp_path / "now/2/__cluster_metadata-0"
    assert found.message.startswith(
        "voter 2: its log end offset was 3673 in an earlier capture, and is 1524 now; since "
    )
    assert " UTC it lacks offsets 1524 to " in found.message
    assert found.message.endswith(
        "; it may vote a second time in an epoch in which it voted already, and lacks records that "
        "it acknowledged: it may help to elect a leader that lacks committed records"
    )
    assert " UTC it lacks offsets 1524 to " in found.message
    (state,) = judged_now.states
    assert state.quorum is not None
    assert doubts(state.quorum) == {1: None, 2: VoterDoubt.STALE, 3: None}


def test_the_vote_of_a_voter_that_did_not_win_counts_as_well(tmp_path: Path) -> None:
    # 1 voted for 3 in the last epoch; 2 did not vote in it, and its process registered later.
    quorum = known(*copied(tmp_path, DYNAMIC, {1: "live", 2: "live", 3: "final"}))
    attested = {voter.key.node_id: voter.attested_epoch for voter in quorum.voters}
    assert (attested[1], attested[2]) == (6, 5)
    assert doubts(quorum)[1] is VoterDoubt.STALE


def test_a_voter_without_its_quorum_state_is_in_doubt(tmp_path: Path) -> None:
    nodes = copied(tmp_path, DYNAMIC, dict.fromkeys((1, 2, 3), "final"))
    file(nodes[1], QUORUM_STATE).unlink()
    assert doubts(known(*nodes))[2] is VoterDoubt.NO_QUORUM_STATE


def test_a_voter_whose_quorum_state_was_put_back_is_in_doubt(tmp_path: Path) -> None:
    nodes = copied(tmp_path, DYNAMIC, dict.fromkeys((1, 2, 3), "final"))
    edit_quorum_state(nodes[1], leaderEpoch=5, leaderId=-1, votedId=-1)
    found = known(*nodes)
    assert doubts(found) == {1: None, 2: VoterDoubt.OLD_QUORUM_STATE, 3: None}
    (voter,) = found.in_doubt(VoterDoubt.OLD_QUORUM_STATE)
    assert voter.held_end == voter.disk_end, "its log tells all that it holds"


@pytest.mark.parametrize("content", [b"", b'{"leaderId": 1', b"\0" * 90])
def test_a_quorum_state_that_cannot_be_read_is_not_called_missing(
    tmp_path: Path, content: bytes
) -> None:
    nodes = copied(tmp_path, DYNAMIC, dict.fromkeys((1, 2, 3), "final"))
    file(nodes[1], QUORUM_STATE).write_bytes(content)
    (voter,) = known(*nodes).in_doubt(VoterDoubt.UNREADABLE_QUORUM_STATE)
    assert voter.key.node_id == 2
    assert voter.why_doubted.startswith("its quorum-state can't be read")


def test_a_voter_is_not_called_stale_by_a_quorum_state_that_cannot_be_read(tmp_path: Path) -> None:
    """Its epoch may be as new as that of the others: a good disk would be given up for a chmod."""
    nodes = copied(tmp_path, DYNAMIC, {1: "live", 2: "live", 3: "final"})
    assert doubts(known(*nodes))[1] is VoterDoubt.STALE
    file(nodes[0], QUORUM_STATE).write_bytes(b"")
    assert doubts(known(*nodes))[1] is VoterDoubt.UNREADABLE_QUORUM_STATE


def test_records_that_one_voter_alone_holds_are_on_no_majority(tmp_path: Path) -> None:
    nodes = copied(tmp_path, DYNAMIC, dict.fromkeys((1, 2, 3), "final"))
    before = known(*nodes)
    append(segment(nodes[2], 2722), *[metadata("NO_OP_RECORD")] * 3)
    after = known(*nodes)
    assert (after.proven_end, after.possible_end) == (before.proven_end, before.possible_end)
    assert after.log_end == before.log_end + 3
    assert known(nodes[2], nodes[0]).possible_end == after.log_end, "2 may hold them"


def test_one_directory_alone_proves_what_its_snapshots_hold(tmp_path: Path) -> None:
    (node,) = copied(tmp_path, DYNAMIC, {2: "final"})
    quorum = known(node)
    assert quorum.proven_end == 1496
    assert quorum.possible_end == quorum.log_end
    assert doubts(quorum) == {1: VoterDoubt.NOT_GIVEN, 2: None, 3: VoterDoubt.NOT_GIVEN}
