"""Rows without some captures equal rows that never knew them: held to the definition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.bronze import remaining
from pipelines.bronze.captured import Uncovered
from pipelines.bronze.remaining import remaining_batch, remaining_groups, remaining_snapshot
from replica.format.capture import group_id
from tests.pipelines.bronze.batch_history import ABSENT, DAMAGED, DELETED, HELD, Moment, expected

START = datetime(2026, 1, 1, tzinfo=UTC)
OFFSET = 7
SEGMENT = "00000000000000000000.log"

states = st.sampled_from((ABSENT, DELETED, DAMAGED, HELD))
captures = st.lists(
    st.tuples(states, st.booleans(), st.sampled_from((0, OFFSET + 1)), st.booleans()),
    min_size=1,
    max_size=7,
)
"""Of each capture: what it holds, whether it stays, the first offset that it covers, and whether
damage may hide the batch."""


@given(captures, st.randoms(use_true_random=False))
def test_a_batchs_row_without_some_captures_is_that_of_a_lake_without_them(
    drawn: list[tuple[int, bool, int, bool]], random: Any
) -> None:
    every = [_moment(number, *one) for number, one in enumerate(drawn)]
    order = list(range(len(every)))
    random.shuffle(order)
    looks = [_look(m, one[1], seq) for m, one, seq in zip(every, drawn, order, strict=True)]
    row = _row(every, looks)
    if row is None:
        return
    staying = [m for m, (_, stays, _, _) in zip(every, drawn, strict=True) if stays]
    wanted = _row(staying, [look for look in looks if look.is_kept]) if staying else None
    assert remaining_batch(row, looks) == wanted
    if wanted is not None:
        assert remaining_batch(wanted, looks) == wanted, "done again, it changes nothing"


def test_a_snapshot_is_last_what_the_newest_capture_that_stays_has() -> None:
    name = "00000000000000000519-0000000005.checkpoint"
    files = [{name: "s"}, {name: "s"}, {f"{name}.deleted": "s"}]
    looks = [_named(number, of, is_kept=number != 2) for number, of in enumerate(files)]
    row = {
        "end_offset": 519,
        "epoch": 5,
        "content_sha256": "s",
        "file": f"2/{name}.deleted",
        "state": "deleted",
        "first_seen": looks[0].at,
        "last_seen": looks[2].at,
        "captures": ["0", "1"],
    }
    found = remaining_snapshot(row, looks)
    changed = {"file": f"1/{name}", "state": "complete", "last_seen": looks[1].at}
    assert found == {**row, **changed}
    assert remaining_snapshot({**row, "content_sha256": "t"}, looks) is None


def test_a_group_that_loses_a_capture_has_the_id_of_the_rest() -> None:
    rows = [_capture("a", "g", 1), _capture("b", "g", 1), _capture("c", "h", 2)]
    assert remaining_groups(rows, {1}) == {0: group_id("cluster", ["a"]), 2: "h"}
    assert remaining_groups(rows, {0, 1}) == {2: "h"}


def test_a_group_that_would_not_have_come_in_again_goes_too() -> None:
    alone = group_id("cluster", ["a"])
    rows = [_capture("a", "g", 1), _capture("b", "g", 1), _capture("a", alone, 2)]
    assert remaining_groups(rows, {1}) == {0: alone}


def _moment(number: int, state: int, _: bool, covered_from: int, is_hidden: bool) -> Moment:
    hidden = (0, OFFSET + 1) if is_hidden else (0, 0)
    # one batch, at OFFSET: the definition looks it up by its number
    states = (ABSENT,) * OFFSET + (state,)
    return Moment(START + timedelta(hours=number), states, covered_from, hidden)


def _look(moment: Moment, is_kept: bool, seq: int) -> remaining.ReplicaCapture:
    state = moment.states[OFFSET]
    name = {DELETED: f"{SEGMENT}.deleted"}.get(state, SEGMENT)
    return remaining.ReplicaCapture(
        capture_id=str(seq),
        at=moment.at,
        ingest_seq=seq,
        source=f"captures/{seq}",
        covered_from=moment.covered_from,
        uncovered=(Uncovered(*moment.uncovered),) if moment.uncovered[1] else (),
        files={name: "content"},
        is_kept=is_kept,
    )


def _row(moments: list[Moment], looks: list[remaining.ReplicaCapture]) -> dict[str, Any] | None:
    wanted = expected(moments, OFFSET)
    if wanted is None:
        return None
    seen = [look for look, m in zip(looks, moments, strict=True) if m.states[OFFSET] != ABSENT]
    first = min(seen, key=lambda look: look.ingest_seq)
    spans = {
        name: [{"from": start, "to": end} for start, end in wanted[name]]
        for name in ("in_log", "undamaged", "seen")
    }
    file = f"{first.source}/{next(iter(first.files))}"
    return {**wanted, **spans, "base_offset": OFFSET, "position": 99, "file": file}


def _named(number: int, files: dict[str, str], *, is_kept: bool) -> remaining.ReplicaCapture:
    at = START + timedelta(hours=number)
    return remaining.ReplicaCapture(str(number), at, number, str(number), 0, (), files, is_kept)


def _capture(capture_id: str, group: str, seq: int) -> dict[str, Any]:
    names = ("capture_id", "capture_group", "ingest_seq", "cluster_id")
    return dict(zip(names, (capture_id, group, seq, "cluster"), strict=True))
