"""The judge of reads: it names each planted wrong history, and agrees with another definition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interop.append_history import Append, Outcome
from tests.interop.read_history import Piece, Read, contradictions_of_reads

LOG = (Piece(0, 1, "a"), Piece(1, 4, "b"), Piece(4, 5, "c"), Piece(5, 9, "d"))
APPENDS = {4: Append("x", 10.0, 11.0, Outcome.ACKNOWLEDGED)}


def read(start: int, *pieces: Piece, session: str = "1", ended: float = 20.0, hw: int = 9) -> Read:
    return Read(session, "node 2", start, ended, hw, pieces)


@pytest.mark.parametrize(
    "reads",
    [
        [],
        [read(0, *LOG[:2]), read(4), read(4, *LOG[2:])],
        [read(0, *LOG[:3]), read(0, *LOG, session="2"), read(5, LOG[3])],
        [read(4, *LOG[2:])],
        [read(0, *LOG[:2], ended=1.0, hw=4)],
    ],
)
def test_reads_of_the_log_in_its_order_contradict_nothing(reads: list[Read]) -> None:
    assert contradictions_of_reads(reads, LOG, APPENDS) == []


OF_2 = "of node 2"


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        (
            [read(1, Piece(1, 4, "other"))],
            f"session 1 read 1 to 4 {OF_2}, and the log has another batch there",
        ),
        (
            [read(1, Piece(1, 3, "b"))],
            f"session 1 read 1 to 3 {OF_2}, and the log has another batch there",
        ),
        (
            [read(9, Piece(9, 10, "e"), hw=10)],
            f"session 1 read 9 to 10 {OF_2}, and the log has no batch that begins there",
        ),
        (
            [read(0, *LOG[:2]), read(1, LOG[1])],
            f"session 1 read 1 to 4 {OF_2}, and had read up to 4: it went back",
        ),
        (
            [read(0, *LOG[:2]), read(4, LOG[3])],
            f"session 1 read 5 to 9 {OF_2}, and had read up to 4: it left something out",
        ),
        (
            [read(0, LOG[1])],
            f"session 1 read 1 to 4 {OF_2}, and had read up to 0: it left something out",
        ),
        (
            [read(4, LOG[2], hw=4)],
            f"session 1 read 4 to 5 {OF_2}, above the high watermark 4",
        ),
        ([read(4, LOG[2], ended=9.0)], "session 1 read x before its append began"),
    ],
)
def test_a_planted_wrong_history_is_named(reads: list[Read], said: str) -> None:
    assert contradictions_of_reads(reads, LOG, APPENDS) == [said]


def _is_a_part(reads: Sequence[Read], log: Sequence[Piece]) -> bool:
    """Whether each session's batches, one after the other, are a slice of the log that begins where
    the session did: by comparing with all slices."""
    slices = {tuple(log[i:j]) for i in range(len(log) + 1) for j in range(i, len(log) + 1)}
    by_session = sorted(reads, key=lambda each: each.session)
    for _, found in groupby(by_session, key=lambda each: each.session):
        own = list(found)
        pieces = tuple(piece for each in own for piece in each.pieces)
        if pieces not in slices or (pieces and pieces[0].base_offset != own[0].start):
            return False
    return True


@st.composite
def histories(draw: st.DrawFn) -> list[Read]:
    """Sessions that read slices of the log, of which some are wrong: a batch is lost, repeated,
    replaced, or exchanged for its neighbour."""
    made = []
    for session in "ab"[: draw(st.integers(0, 2))]:
        first = draw(st.integers(0, len(LOG) - 1))
        pieces = list(LOG[first : draw(st.integers(first, len(LOG)))])
        if pieces and draw(st.booleans()):
            at = draw(st.integers(0, len(pieces) - 1))
            wrong = draw(st.sampled_from(["lost", "twice", "other", "neighbour"]))
            match wrong:
                case "lost":
                    del pieces[at]
                case "twice":
                    pieces.insert(at, pieces[at])
                case "other":
                    pieces[at] = Piece(pieces[at].base_offset, pieces[at].end_offset, "z")
                case _:
                    pieces[at], pieces[at - 1] = pieces[at - 1], pieces[at]
        cut = draw(st.integers(0, len(pieces)))
        start = LOG[first].base_offset
        made += [
            read(start, *pieces[:cut], session=session),
            read(start, *pieces[cut:], session=session),
        ]
    return made


@given(histories())
def test_the_judge_agrees_with_a_comparison_with_all_parts_of_the_log(reads: list[Read]) -> None:
    assert (contradictions_of_reads(reads, LOG, {}) == []) is _is_a_part(reads, LOG)
