"""The ground on which answers stand: none is safe where the state may not be the cluster's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight, done, preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.rolling import roll
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.quorum.histories import LogConflict
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.history.log import OffsetRange
from replica.model.keys import ReplicaKey
from tests.replica.doctor.preflight.clusters import broker, cluster, known, partition

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
    (first,) = found.first
    assert first.startswith("start no node and change nothing: `kraftlake recover --plan`")
    told = (found.needs, found.order)
    assert told == ((), ()), "each of them would be about one of two histories"


def test_nothing_is_safe_by_records_that_no_majority_holds() -> None:
    quorum = known(1, 2, 3, 4, 5, held={1: 326, 2: 326, 3: 350, 4: 326, 5: 326})
    of = cluster(quorum=quorum, end_offset=350, uncommitted_from=326, unproven_from=326)
    found = grounded(SAFE, of)
    assert reasons(found) == [("unknown", "state", 326)]
    assert found.reasons[0].detail.startswith("offsets 326 to 349 are on 1 of 5 voters (3): ")


def test_what_may_be_committed_is_a_condition() -> None:
    found = grounded(SAFE, cluster(quorum=known(1), end_offset=9, unproven_from=4))
    assert found.answer is ChangeSafety.SAFE
    assert found.needs[1].startswith("all changes of the log have to be committed")
    some = replace(known(1), proven_end=3)
    found = grounded(SAFE, cluster(quorum=some, end_offset=9, unproven_from=4))
    assert found.needs[1].startswith("the changes from offset 4 on have to be committed")


def test_voters_whose_disks_are_in_doubt_are_named() -> None:
    doubts = {1: VoterDoubt.STALE, 2: VoterDoubt.NO_QUORUM_STATE, 3: VoterDoubt.NOT_GIVEN}
    found = grounded(SAFE, cluster(quorum=known(1, 2, 3, doubts=doubts)))
    assert reasons(found) == [("safe", "voter 1", None), ("safe", "voter 2", None)]
    assert "its directory is of epoch 1, and it led or voted in epoch 2" in found.reasons[0].detail


def test_an_unsafe_answer_stays_unsafe_and_a_doubt_stands_before_its_notes() -> None:
    of = cluster(is_whole=False, refused_at=3)
    assert reasons(grounded(SAFE, of)) == [("unknown", "state", None)] * 2


def test_a_change_that_needs_a_leader_is_unsafe_while_nobody_leads_the_quorum() -> None:
    """It can't be carried out: that is known, and no wait for a better copy changes it."""
    unled = cluster(quorum=known(1, 2, 3, is_leaderless=True))
    (reason,) = grounded(SAFE, unled).reasons
    assert (reason.answer, reason.subject) == (ChangeSafety.UNSAFE, "quorum")
    assert reason.detail.startswith("had no leader when the directories were copied: it accepts no")
    nothing = preflight("do something", [done("it", "is done")])
    for other in (nothing, replace(SAFE, asks_quorum=False)):
        assert grounded(other, unled).answer is other.answer


@pytest.mark.parametrize(
    ("is_sure", "answer"), [(True, ChangeSafety.UNSAFE), (False, ChangeSafety.UNKNOWN)]
)
def test_a_verdict_without_leader_leaves_no_order_and_has_a_first_step(
    is_sure: bool, answer: ChangeSafety
) -> None:
    rolled = roll(cluster(broker(2), broker(3), quorum=known(2, 3, 4)))
    assert rolled.order
    perhaps = NoLeader("has perhaps no leader", is_sure=is_sure)
    found = grounded(rolled, cluster(by_verdict=perhaps))
    assert (found.answer, found.order) == (answer, ())
    assert found.first[0].startswith("make sure that the quorum has a leader")


def test_each_answer_names_the_brokers_that_are_copied_before_their_start() -> None:
    of = cluster(broker(3, fenced=True), partition(0, (2, 3), isr=(2,), leaderRecoveryState=1))
    (told,) = grounded(SAFE, of).reasons
    assert (told.answer, told.subject) == (ChangeSafety.SAFE, "broker 3")
    assert told.detail.endswith(" First copy the log directories of broker 3")
    rolled = grounded(roll(of), of)
    assert sum("First copy the log directories" in one.detail for one in rolled.reasons) == 1
    assert "First copy the log directories of broker 3. Then start it" in rolled.reasons[0].detail
