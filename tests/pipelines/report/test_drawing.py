"""Drawings: well-formed, inside their frame, and honest about what doesn't fit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.html_text import element, visible
from pipelines.report import activity, axis, epoch_lanes, leader_lanes
from pipelines.report.divergences import Replica
from pipelines.report.evidence import MAX_BUCKETS, Activity, bucketing
from pipelines.report.lanes import HUES, Block, Fills, merged
from pipelines.report.losses import LostRecordCount, When
from pipelines.report.queries import MAX_LANES
from pipelines.report.source import Figure
from pipelines.report.svg import Scale, drawing, label, text
from pipelines.report.words import round_seconds

HOSTILE = "</text><script>alert(1)</script>\"'&\x1b[31m\u202e\x00\udcff"


def read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - ours


def test_text_in_a_drawing_becomes_no_markup_and_turns_no_other_text() -> None:
    svg = drawing("id", HOSTILE, HOSTILE, 10, text(0, 5, HOSTILE), element("g", class_=HOSTILE))
    root = read(svg)
    assert root.findtext("title") == visible(HOSTILE)
    assert {node.tag for node in root.iter()} == {"svg", "title", "desc", "text", "g"}
    assert "\u202e" not in svg
    assert "\\u202e" in svg


@given(st.text())
def test_any_text_is_shown_as_printable_characters(content: str) -> None:
    shown = visible(content)
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert read(element("text", content)).text in (shown, None)


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 9)), min_size=1, max_size=40),
    st.integers(1, 10**9),
)
def test_no_epoch_is_lost_when_thin_blocks_are_put_together(
    lengths: list[tuple[int, int]], first: int
) -> None:
    blocks, start = [], first
    for number, (length, leader) in enumerate(lengths):
        fill = f"hue{leader % HUES}"
        blocks.append(Block(start, start + length, fill, (str(number),), f"epoch {number}"))
        start += length
    scale = Scale(first, start)
    found = merged(blocks, scale)
    assert sum(block.count for block in found) == len(blocks)
    assert (found[0].start, found[-1].end) == (first, start)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_ten_thousand_epochs_are_a_few_blocks_that_say_how_many_they_are() -> None:
    rows = [
        {
            **{"node_id": 1, "directory_id": "d", "epoch": number, "leader_id": number % 3},
            **{"start_offset": number, "end_offset": number + 1, "is_told_elsewhere": False},
        }
        for number in range(10_000)
    ]
    svg = drawn(rows, start=0, end=10_000)
    assert "10000 epochs" in svg
    assert len(svg) < 5000


def drawn(rows: Iterable[dict[str, Any]], *, start: int, end: int) -> str:
    """One lane of a log from `start` to `end`, of rows of queries.epochs."""
    place = {"log_start_offset": start, "log_end_offset": end}
    replica = {"node_id": 1, "directory_id": "d", **place}
    fills = Fills(row["leader_id"] for row in rows)
    told = evidence_with(epochs=rows)
    lane = epoch_lanes.lane(replica, "node 1", told, fills, is_voter=True)
    return epoch_lanes.draw("id", [lane])


def evidence_with(epochs: Iterable[dict[str, Any]] = (), losses: Iterable[Any] = ()) -> Any:
    """The part of an Evidence that lanes are drawn from."""
    return SimpleNamespace(epochs=Figure("", tuple(epochs)), losses=losses, snapshots=Figure(""))


def epoch_row(number: int, leader: int | None, start: int, end: int) -> dict[str, Any]:
    where = {"node_id": 1, "directory_id": "d", "start_offset": start, "end_offset": end}
    return {**where, "epoch": number, "leader_id": leader, "is_told_elsewhere": False}


def fills_of(svg: str) -> list[str]:
    """The fill of each block, in order."""
    blocks = [box.get("class", "").split() for box in read(svg).findall("rect")]
    return [classes[1] for classes in blocks if classes[0] == "block"]


@given(st.lists(st.one_of(st.none(), st.integers(0, 3000)), min_size=1, max_size=12))
def test_equal_fills_are_equal_leaders_and_an_unknown_leader_has_no_leader_s_fill(
    leaders: list[int | None],
) -> None:
    rows = [epoch_row(n, leader, 100 * n, 100 * n + 100) for n, leader in enumerate(leaders)]
    fills = fills_of(drawn(rows, start=0, end=100 * len(rows)))
    assert len(fills) == len(leaders)
    for (a, one), (b, other) in combinations(zip(leaders, fills, strict=True), 2):
        assert (a is None) == (one == "unknown")
        if a == b:
            assert one == other
        elif one == other:
            assert one == "other", "more leaders than fills: those beyond are told by their words"


def test_the_fills_beyond_the_last_hue_are_named_in_the_key() -> None:
    fills = Fills([7, 1, None, 13, 2, 3, 4, 5])
    assert [(one.fill, one.text) for one in fills.key()] == [
        *((f"hue{n}", f"leader {leader}") for n, leader in enumerate((1, 2, 3, 4, 5, 7))),
        ("other", "leader 13"),
        ("unknown", "leader unknown"),
    ]
    assert [one.text for one in Fills([1]).key()] == ["leader 1"]


def test_epochs_below_the_log_start_are_drawn_apart() -> None:
    rows = [epoch_row(5, 1, 519, 549), epoch_row(8, 3, 549, 1925)]
    root = read(drawn(rows, start=1913, end=1925))
    boxes = [one for one in root.findall("rect") if "block" in one.get("class", "")]
    told = [("below" in box.get("class", ""), box.findtext("title")) for box in boxes]
    assert told == [
        (True, "epoch 5, leader 1: offsets 519 to 548, below the log start"),
        (True, "epoch 8, leader 3: offsets 549 to 1912, below the log start"),
        (False, "epoch 8, leader 3: offsets 1913 to 1924"),
    ]
    assert not any("below" in one for one in drawn(rows, start=519, end=1925).split('"'))


def test_a_block_says_where_its_leader_is_told_if_not_in_the_log_itself() -> None:
    row = epoch_row(5, 1, 0, 9) | {"is_told_elsewhere": True}
    assert "epoch 5, leader 1 (its record isn&#39;t in this log)" in drawn([row], start=0, end=9)


def test_a_label_that_fits_nowhere_is_left_to_the_block_s_title() -> None:
    assert label(0, 10, 0.5, ("epoch 12345",)) == ""
    phone_and_screen = label(0, 10, 12, ("epoch 5, leader 2", "epoch 5", "5"))
    assert read(f"<g>{phone_and_screen}</g>")[0].text == "5"
    assert read(f"<g>{phone_and_screen}</g>")[1].text == "epoch 5"


def test_an_epoch_whose_times_no_calendar_has_is_left_out_of_the_drawing_over_time() -> None:
    row = {"epoch": 1, "leader_id": 1, "last_written": None}
    fills = Fills([1])
    far, near = "+200000-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
    assert leader_lanes.draw("id", [{**row, "started_at": far}], fills) is None
    assert leader_lanes.draw("id", [{**row, "started_at": near}], fills) is not None


@given(st.floats(0, 4e12), st.floats(0, 4e12))
def test_buckets_are_round_and_few_however_long_the_log(first: float, length: float) -> None:
    start, width = bucketing(first, first + length)
    assert start <= first
    assert (first + length - start) // width <= MAX_BUCKETS + 1
    assert width == round_seconds(width)


@given(st.integers(0, 10**15), st.integers(1, 10**15))
def test_an_axis_of_offsets_has_a_few_round_ticks(low: int, extent: int) -> None:
    step = axis.round_step(extent)
    assert extent / step <= 6
    assert str(step).rstrip("0") in ("1", "2", "5")
    root = read(f"<g>{axis.offset_axis(Scale(low, low + extent), 0)}</g>")
    assert 0 <= len(root.findall("text")) <= 7


def test_changes_without_a_time_are_counted_and_in_no_bar() -> None:
    rows = [
        {"change": "topic_created", "bucket": 0, "changes": 2, "first_offset": 5, "last_offset": 9},
        {
            "change": "topic_created",
            "bucket": None,
            "changes": 1,
            "first_offset": 1,
            "last_offset": 1,
        },
    ]
    (kind,) = activity.kinds(rows)
    assert kind == activity.ActivityKind("topic_created", 3, 1, 9, ((0, 2),))
    assert activity.draw("id", Activity(Figure("", tuple(rows[1:])), 0, 1, typed=True)) is None


STYLE = Path(epoch_lanes.__file__).with_name("static") / "report.css"
PAPERS = {
    "ink": ("page", "panel", "bad-panel", "warn-panel", "good-panel", "calm-panel", "many"),
    "quiet": ("page", "panel"),
    "link": ("page", "panel", "bad-panel", "warn-panel", "good-panel", "calm-panel"),
    **{tone: ("page", f"{tone}-panel") for tone in ("bad", "warn", "good", "calm")},
}
"""Colours of text, and those that they stand on."""


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa_on_every_ground_of_both_themes(theme: int) -> None:
    colours = dict(
        re.findall(
            r"--([a-z0-9-]+): (#[0-9a-f]{6});", STYLE.read_text().split(":root {")[theme + 1]
        )
    )
    hues = ("other", *(f"hue{number}" for number in range(HUES)))
    for ink, papers in {**PAPERS, "ink": PAPERS["ink"] + hues}.items():
        for paper in papers:
            assert contrast(colours[ink], colours[paper]) >= 4.5, f"{ink} on {paper}"


def contrast(a: str, b: str) -> float:
    """WCAG 2.2, contrast ratio."""
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(c * weight for c, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def test_of_many_replicas_those_that_lost_records_and_voters_are_drawn() -> None:
    lost = LostRecordCount((Replica(99, "d"),), When.GONE, 3, 2, 0, 0, 2, (1,))
    lanes = []
    told, fills = evidence_with(losses=[lost]), Fills(())
    for node in range(100):
        row = {"node_id": node, "directory_id": "d", "log_start_offset": 0, "log_end_offset": 9}
        lanes.append(epoch_lanes.lane(row, f"node {node}", told, fills, is_voter=node in (50, 51)))
    root = read(epoch_lanes.draw("id", lanes))
    shown = [one.text for one in root.findall("text")]
    assert {"node 50", "node 51", "node 99", "2 truncated from 3"} <= {*shown}
    assert len([one for one in shown if one and one.startswith("node ")]) == MAX_LANES
