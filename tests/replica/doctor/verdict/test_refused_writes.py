"""What is told of refused writes that are over, and what to look at."""

from __future__ import annotations

import pytest

from replica.doctor.health.cluster import Beginning
from replica.doctor.health.leaderless import Outage
from replica.doctor.health.refusals import Fencing, Missing, Refusal
from replica.doctor.verdict.refused_writes import refused_step, refused_text
from replica.words import ms_text

KEYS = frozenset(("t", one) for one in range(2))
NAMES = ("orders-0", "orders-1")


def of(*missing: Missing, began: int = 1000, ended: int | None = 2200, most: int = 2) -> Refusal:
    until = None if ended is None else Beginning(ended, ended)
    still = 0 if ended is not None else 2
    outage = Outage(Beginning(began, began), until, most, 9, began, 2, still, KEYS)
    return Refusal(outage, NAMES, missing)


def fenced(at: int, *, back: bool = True, asked: bool = False, restarted: bool = False) -> Fencing:
    came = Beginning(at + 500, at + 500) if back else None
    return Fencing(Beginning(at, at), asked, came, restarted)


def test_the_same_partitions_are_named_once_with_each_time_and_the_missing_brokers() -> None:
    twice = of(Missing(13, fenced(1000))), of(Missing(13, fenced(9000)), began=9000, ended=75_000)
    assert refused_text(twice, ms_text) == (
        "writes with acks=all to orders-0 and orders-1 from 1970-01-01 00:00:01 UTC until "
        "1970-01-01 00:00:02 UTC (1.2 s) and from 1970-01-01 00:00:09 UTC until 1970-01-01 "
        "00:01:15 UTC (1 min 6 s): too few replicas were in sync, those on broker 13 were missing. "
        "In the seconds before, such writes may have had no answer: the leader waited for the "
        "missing replicas"
    )
    others = refused_text([of(), of(most=7)], ms_text)
    assert "to orders-0 and orders-1 from" in others
    assert "; to up to 7 partitions from" in others
    assert "(2 earlier times not shown)" in refused_text([of()] * 5, ms_text)


def test_what_goes_on_is_the_verdict_s() -> None:
    still = of(Missing(13, None), ended=None)
    assert refused_text([still], ms_text) == refused_step([still], ms_text) == ""
    assert refused_text([], ms_text) == refused_step([], ms_text) == ""
    assert refused_step([of(Missing(13, None)), still], ms_text) == "", "first the verdict's steps"


def test_a_lower_min_isr_is_to_be_set_back() -> None:
    lowered = of(Missing(13, None))._replace(was_lowered=True)
    assert refused_step([of(Missing(13, None)), lowered], ms_text).endswith(
        " Writes are accepted since min.insync.replicas was changed at 1970-01-01 00:00:02 UTC, by "
        "fewer replicas than before: set it back once the replicas are in sync."
    )
    assert "set it back" not in refused_step([of(Missing(13, None))], ms_text)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            [fenced(1000), fenced(9000)],
            "it missed its heartbeats and was fenced 2 times (at 1970-01-01 00:00:01 UTC and "
            "1970-01-01 00:00:09 UTC; by default a broker is fenced 9 s or more after its last "
            "heartbeat), and came back without a restart, as the same process: a long pause of it "
            "(garbage collection, a host that stood still), its disk or its network.",
        ),
        (
            [fenced(1000, restarted=True)],
            "it missed its heartbeats and was fenced (at 1970-01-01 00:00:01 UTC; by default a "
            "broker is fenced 9 s or more after its last heartbeat), and came back as a new "
            "process: it had crashed or was killed, and its log and the host's say why.",
        ),
        (
            [fenced(1000, back=False)],
            "it missed its heartbeats and was fenced (at 1970-01-01 00:00:01 UTC; by default a "
            "broker is fenced 9 s or more after its last heartbeat), and is still fenced: start "
            "it, or find out why it can't reach the controllers.",
        ),
        (
            [fenced(1000, asked=True, restarted=True)],
            "it was shut down in order (fenced at 1970-01-01 00:00:01 UTC) and was away: before a "
            "stop `kraftlake plan --stop-broker N` says what is left without it.",
        ),
        (
            [None],
            "its replicas fell behind while it was not fenced: its disk, its network or its load "
            "may be the cause.",
        ),
    ],
    ids=["back", "restarted", "fenced", "asked", "behind"],
)
def test_the_step_says_what_became_of_the_missing_broker(
    found: list[Fencing | None], told: str
) -> None:
    step = refused_step([of(Missing(13, one)) for one in found], ms_text)
    assert step == f"Look at broker 13: {told}"


def test_several_brokers_have_a_sentence_each_up_to_three() -> None:
    step = refused_step([of(*(Missing(one, None) for one in range(5)))], ms_text)
    assert step.count("Look at broker ") == 3
    assert step.endswith(" So for 2 more brokers.")
