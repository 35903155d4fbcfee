"""The ground on which answers stand: none is safe where the state may not be the cluster's."""

from __future__ import annotations

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight, preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.quorum.known_quorum import LogConflict
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.history.log import OffsetRange
from replica.model.keys import ReplicaKey
from tests.replica.doctor.preflight.clusters import cluster, known

SAFE = preflight("do something", [], ("something else",))
ONE, TWO = ReplicaKey(1), ReplicaKey(2)


def reasons(found: Preflight) -> list[tuple[str, str, int | None]]:
    return [(one.answer.value, one.subject, one.offset) for one in found.reasons]


def test_a_whole_and_committed_state_changes_no_answer() -> None:
    assert grounded(SAFE, cluster(quorum=known(1, 2, 3))) == SAFE
    assert grounded(SAFE, cluster()) == SAFE, "of a lake, or of a running quorum"


@pytest.mark.parametrize(
    "quorum",
    [
        known(1, 2, conflicts=(LogConflict(ONE, TWO, 7), LogConflict(TWO, ONE, 9))),
        known(1, 2, contested=(OffsetRange(7, 9), OffsetRange(12, 13))),
    ],
)
def test_nothing_is_safe_where_it_is_not_known_which_history_is_right(quorum) -> None:
    found = grounded(SAFE, cluster(quorum=quorum, unproven_from=5))
    assert reasons(found) == [("unknown", "state", 7)]
    assert found.needs == SAFE.needs


def test_nothing_is_safe_by_records_that_no_majority_holds() -> None:
    quorum = known(1, 2, 3, 4, 5, held={1: 326, 2: 326, 3: 350, 4: 326, 5: 326})
    of = cluster(quorum=quorum, end_offset=350, uncommitted_from=326, unproven_from=326)
    found = grounded(SAFE, of)
    assert reasons(found) == [("unknown", "state", 326)]
    assert found.reasons[0].detail.startswith("offsets 326 to 349 are on 1 of 5 voters (3): ")


def test_what_may_be_committed_is_a_condition() -> None:
    found = grounded(SAFE, cluster(quorum=known(1), end_offset=9, unproven_from=4))
    assert found.answer is ChangeSafety.SAFE
    assert found.needs[1].startswith("the records from offset 4 on have to be committed")


def test_voters_whose_disks_are_in_doubt_are_named() -> None:
    doubts = {1: VoterDoubt.STALE, 2: VoterDoubt.NO_QUORUM_STATE, 3: VoterDoubt.NOT_GIVEN}
    found = grounded(SAFE, cluster(quorum=known(1, 2, 3, doubts=doubts)))
    assert reasons(found) == [("safe", "voter 1", None), ("safe", "voter 2", None)]
    assert "its directory is of epoch 1, and it led or voted in epoch 2" in found.reasons[0].detail


def test_an_unsafe_answer_stays_unsafe_and_a_doubt_stands_before_its_notes() -> None:
    of = cluster(is_whole=False, refused_at=3)
    assert reasons(grounded(SAFE, of)) == [("unknown", "state", None)] * 2
