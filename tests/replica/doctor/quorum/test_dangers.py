"""What the start of a voter may do whose disk can't be relied on: it may vote a second time where
its quorum-state may lack a vote, and elect a leader without records where it lacks records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from replica.doctor.check.catalogue import groups
from replica.doctor.check.lineage import judge_voters
from replica.doctor.quorum.known_quorum import KnownQuorum, QuorumFiles
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.quorum.lacks_own import LacksOwn
from replica.doctor.quorum.registered_later import RegisteredLater
from replica.doctor.quorum.went_back import WentBack
from replica.history.log import OffsetRange
from replica.model.epochs import UNDEFINED_EPOCH
from tests.replica.doctor.quorum.test_known_quorum import ONE, THREE, TWO, known, log

TWICE = "may vote a second time in an epoch in which it voted already"
LOST = "lacks records that it acknowledged: it may help to elect a leader that lacks committed"
FEWER_RECORDS = WentBack(ONE, 4, 1, 3, 3, (OffsetRange(1, 2),), lacks_acknowledged=True)
OLDER_EPOCH = WentBack(ONE, 1, 1, 3, 2, ())
LATER = {"registered_later": {ONE: RegisteredLater(1, 3, 3, 5_000)}}


def doubted(files: Mapping[str, Any], quorum_epoch: int) -> KnownVoter:
    """Voter 1, whose log is of epoch 2, among others that are in epoch 3."""
    others = log(TWO, 2, 3, 3, 3), log(THREE, 2, 3, 3, 3)
    quorum = known(log(ONE, 2, quorum_epoch=quorum_epoch), *others, files=QuorumFiles(**files))
    (voter,) = (one for one in quorum.voters if one.doubt is not None)
    assert voter.key == ONE
    return voter


@pytest.mark.parametrize(
    ("files", "quorum_epoch"),
    [
        ({"attested": {ONE: 3}}, 2),
        ({"went_back": {ONE: OLDER_EPOCH}}, 2),
        ({}, UNDEFINED_EPOCH),
        ({"unreadable_states": frozenset({ONE})}, UNDEFINED_EPOCH),
    ],
)
def test_a_voter_whose_quorum_state_may_lack_a_vote_may_vote_a_second_time(
    files: Mapping[str, Any], quorum_epoch: int
) -> None:
    assert doubted(files, quorum_epoch).danger == TWICE


@pytest.mark.parametrize(
    "files",
    [
        {"went_back": {ONE: FEWER_RECORDS}},
        {"lacks_own": {ONE: LacksOwn(3, 1, 4, 10_000)}},
        LATER,
    ],
)
def test_a_voter_that_knows_its_votes_and_lacks_records_does_not_vote_a_second_time(
    files: Mapping[str, Any],
) -> None:
    voter = doubted(files, 3)
    assert voter.doubt is VoterDoubt.STALE
    assert voter.danger.startswith(LOST)
    both = doubted(files, 2) if files is LATER else doubted(files, UNDEFINED_EPOCH)
    assert both.danger.startswith(f"{TWICE}, and {LOST}"), "the registration is of a later epoch"


def test_a_quorum_state_that_is_older_than_its_own_log_lacks_votes_too() -> None:
    assert doubted({"lacks_own": {ONE: LacksOwn(2, 1, 2, 10_000)}}, 1).danger.startswith(TWICE)


def test_of_a_log_that_can_t_be_read_nobody_knows_what_it_held() -> None:
    voter = doubted({"unreadable": frozenset({ONE})}, 3)
    assert voter.danger == (
        "holds records that can't be read: without them it may help to elect a leader that lacks "
        "committed records"
    )


def test_an_emptied_directory_is_of_no_epoch() -> None:
    """Somebody deleted the files of a metadata log, and left its directory."""
    emptied = KnownVoter(ONE, VoterDoubt.STALE, None, 3)
    assert emptied.why_stale == "it led or voted in epoch 3, and its metadata log is empty"
    (found,) = (one for _, one in judge_voters(KnownQuorum((emptied,))))
    assert found.rule is groups.VOTER_DISK_EMPTY
