"""What the registration of a controller's process shows of its disk."""

from __future__ import annotations

import pytest

from replica.doctor.quorum.log_ends import LogEnd
from replica.doctor.quorum.registered_later import (
    REGISTERING_MS,
    RegisteredLater,
    Registration,
    logs_behind,
)
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from tests.replica.doctor.quorum.test_known_quorum import ONE, TWO, log

SECOND = 1_000
NEWEST = (1, 1, 1, 2, 3, 3, 3, 3, 3, 3)
"""The epochs of the records of the newest log: one record a second."""


def end_of(one: ReplicaLog, at_ms: int) -> LogEnd:
    return LogEnd(one.key, one.last_epoch, one.end_offset, at_ms, is_leader=False)


def found(
    own: ReplicaLog, registration: Registration, newest: tuple[int, ...] = NEWEST
) -> dict[ReplicaKey, RegisteredLater]:
    longest = log(ONE, *newest)
    ends = [end_of(one, (one.end_offset - 1) * SECOND) for one in (longest, own)]
    behind = logs_behind([longest, own], ends)
    if behind is None:
        return {}
    return behind.registered_later([registration], lambda offset: offset * SECOND)


@pytest.mark.parametrize(
    ("held", "at", "lacking_ms"),
    [
        (3, 9, 5_000),  # epoch 2 is lacked whole, and 3 from its begin at offset 4 on
        (4, 9, 5_000),
        (4, 7, REGISTERING_MS),
        (4, 6, None),  # the leader of epoch 3 led for 2 s alone
        (6, 9, REGISTERING_MS),
        (6, 8, None),
    ],
)
def test_what_the_leader_held_some_seconds_before_had_been_read(
    held: int, at: int, lacking_ms: int | None
) -> None:
    told = found(log(TWO, *NEWEST[:held]), Registration(TWO.node_id, at, 3))
    expected = {} if lacking_ms is None else {TWO: RegisteredLater(held, at, 3, lacking_ms)}
    assert told == expected


def test_only_its_own_registration_on_the_branch_counts() -> None:
    own = log(TWO, *NEWEST[:4])
    assert found(own, Registration(ONE.node_id, 9, 3)) == {}
    assert found(own, Registration(TWO.node_id, 9, 2)) == {}, "of a superseded branch"
    assert found(own, Registration(TWO.node_id, 3, 2)) == {}, "its log has this one"


def test_a_log_that_left_the_newest_one_and_one_as_long_are_not_behind() -> None:
    registered = Registration(TWO.node_id, 9, 3)
    assert found(log(TWO, 1, 1, 1, 1), registered) == {}
    assert found(log(TWO, *NEWEST), registered) == {}


def test_of_two_disks_of_a_node_nobody_knows_which_one_ran() -> None:
    longest, own = log(ONE, *NEWEST), log(TWO, *NEWEST[:4])
    other = log(ReplicaKey(TWO.node_id, "another"), *NEWEST)
    ends = [end_of(one, (one.end_offset - 1) * SECOND) for one in (longest, own, other)]
    assert logs_behind([longest, own], ends[:2]) is not None
    assert logs_behind([longest, own, other], ends) is None
