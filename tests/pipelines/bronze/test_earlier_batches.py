"""What a row of bronze.log_batches of schema version 1 says, told as today's rows do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.bronze.earlier_batches import told_anew
from pipelines.bronze.remaining import Moment, spans_over

T0 = datetime(2026, 11, 21, tzinfo=UTC)
OFFSET = 100
IN_LOG, DELETED, ABSENT = "in .log", "in .log.deleted", "absent"
DERIVED = ("last_seen", "in_log", "undamaged", "seen")


def moments_of(states: Sequence[str], hidden: Sequence[int] = ()) -> list[Moment]:
    """A capture an hour. Where a segment is about to be deleted, the log starts behind it. hidden:
    captures in which damage may hide the batch."""
    return [
        Moment(
            capture_id=str(hour),
            at=T0 + timedelta(hours=hour),
            ingest_seq=hour + 1,
            source="node",
            log_start_offset=OFFSET + 50 if state != IN_LOG else 0,
            uncovered=((0, None),) if hour in hidden else (),
            files={},
            is_kept=True,
        )
        for hour, state in enumerate(states)
    ]


def closed(spans: Sequence[dict[str, Any]], newest: datetime) -> list[dict[str, Any]]:
    """As version 1 has them."""
    return [{**span, "to": span["to"] or newest} for span in spans]


def rows_of(states: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], list[Moment]]:
    """The row that version 1 would have, what today's would add or change, and the captures."""
    moments = moments_of(states)
    held = dict(zip((moment.at for moment in moments), states, strict=True))
    seen = [moment.at for moment in moments if held[moment.at] != ABSENT]
    newest = moments[-1].at
    gone = next((m.at for m in moments if m.at > seen[0] and held[m.at] == ABSENT), None)
    in_log = spans_over(moments, lambda moment: held[moment.at] == IN_LOG)
    anywhere = spans_over(moments, lambda moment: held[moment.at] != ABSENT)
    old = {
        "base_offset": OFFSET,
        "crc_valid": True,
        "first_seen": seen[0],
        "last_seen": seen[-1],
        "truncated_at": None,
        "removed_at": gone,
        "in_log": closed(in_log, newest),
    }
    wanted = {
        "last_seen": None if seen[-1] == newest else seen[-1],
        "in_log": in_log,
        "undamaged": anywhere,
        "seen": anywhere,
    }
    return old, wanted, moments


@st.composite
def lives(draw: st.DrawFn) -> list[str]:
    """A batch comes, is in the log, then perhaps in a file about to be deleted, then gone; and
    perhaps in the log once more, as where a snapshot was rolled back."""
    counts = [draw(st.integers(0, 3)) for _ in range(5)]
    states = (ABSENT, IN_LOG, DELETED, ABSENT, IN_LOG)
    life = [state for state, n in zip(states, counts, strict=True) for _ in range(n)]
    return life if set(life) - {ABSENT} else [*life, IN_LOG]


@given(lives())
def test_whatever_befell_a_batch_its_row_is_told_as_if_it_had_just_been_ingested(
    life: list[str],
) -> None:
    old, wanted, moments = rows_of(life)
    anew = told_anew(old, moments)
    assert {name: anew[name] for name in DERIVED} == wanted
    assert {n: anew[n] for n in old if n not in DERIVED} == {
        n: old[n] for n in old if n not in DERIVED
    }
    assert told_anew(anew, moments) == anew, "an upgrade that is run again changes nothing"


def test_a_batch_that_was_never_undamaged_has_no_span_that_says_so() -> None:
    old, _, moments = rows_of([IN_LOG, IN_LOG])
    anew = told_anew({**old, "crc_valid": False, "in_log": []}, moments)
    assert (anew["in_log"], anew["undamaged"]) == ([], [])
    assert anew["seen"] == [{"from": T0, "to": None}]


def test_a_batch_that_was_damaged_in_one_capture_was_undamaged_in_the_others() -> None:
    old, _, _ = rows_of([IN_LOG, IN_LOG, IN_LOG])
    moments = moments_of([IN_LOG] * 3)
    first = {"from": T0, "to": T0}
    last = {"from": moments[2].at, "to": moments[2].at}
    anew = told_anew({**old, "in_log": [first, last]}, moments)
    assert anew["undamaged"] == [first, {**last, "to": None}]
    assert anew["seen"] == [{"from": T0, "to": None}]


def test_where_damage_may_hide_a_batch_it_is_not_said_to_have_been_there() -> None:
    old, _, _ = rows_of([DELETED, DELETED, DELETED])
    moments = moments_of([DELETED] * 3, hidden=[1])
    anew = told_anew(old, moments)
    ends = [{"from": T0, "to": T0}, {"from": moments[2].at, "to": None}]
    assert (anew["seen"], anew["undamaged"]) == (ends, ends)
