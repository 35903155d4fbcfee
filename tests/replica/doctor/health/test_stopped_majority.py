"""Whether a majority of the voters stopped, or a change was only under way."""

from __future__ import annotations

import pytest

from replica.doctor.health.cluster import STOPPED_MS, Cluster
from replica.doctor.health.judging import judge_health
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.metadata.image.image import EMPTY
from replica.model.keys import ReplicaKey

END, SINCE = 10, 1_700_000_000_000


def found(
    held: dict[int, int | None], after_ms: int = STOPPED_MS, lived_on: tuple[int, ...] = ()
) -> list[str]:
    """The rules that report something. held: the end of what each voter holds of the newest log;
    None for a voter whose directory wasn't given. after_ms: the time from the first change that no
    majority holds to the log's end."""
    voters = tuple(
        KnownVoter(
            ReplicaKey(one),
            VoterDoubt.NOT_GIVEN if end is None else None,
            held_end=end,
            lived_on=one in lived_on,
        )
        for one, end in held.items()
    )
    cluster = Cluster(
        EMPTY,
        end_offset=20,
        now=SINCE + after_ms,
        quorum=KnownQuorum(voters, log_end=20, proven_end=END, possible_end=END),
        uncommitted_from=END,
        uncommitted_at=SINCE,
    )
    return [one.rule.id for one in judge_health(cluster)]


def test_a_majority_that_ends_at_one_offset_has_stopped() -> None:
    assert found({1: END, 2: END, 3: 20}) == ["majority-stopped"]
    assert found({1: END, 2: END, 3: END, 4: 20, 5: None}) == ["majority-stopped"]


@pytest.mark.parametrize(
    ("held", "after_ms"),
    [
        ({1: END, 2: END, 3: 20}, STOPPED_MS - 1),  # may be under way
        ({1: END - 1, 2: END, 3: 20}, STOPPED_MS),  # copied one after another
        ({1: END, 2: END, 3: 20, 4: None, 5: None}, STOPPED_MS),  # no majority of the voters
    ],
)
def test_otherwise_the_state_is_only_not_committed(
    held: dict[int, int | None], after_ms: int
) -> None:
    assert found(held, after_ms) == ["state-not-committed"]


def test_a_voter_that_is_known_to_have_run_later_has_not_stopped() -> None:
    assert found({1: END, 2: END, 3: 20}, lived_on=(2,)) == ["state-not-committed"]
    assert found({**dict.fromkeys((1, 2, 3, 4), END), 5: 20}, lived_on=(2,)) == ["majority-stopped"]
