"""What the parts of a replay say of one snapshot, or of one run of the log, together."""

from __future__ import annotations

from typing import Any

from pipelines.replay.compared import REPLAYED, SAMPLE, folded

NOTHING: dict[str, Any] = dict.fromkeys(REPLAYED.names)


def _difference(place: int) -> dict[str, Any]:
    return {"place": place, "entity": "topic", "key": "k", "in_snapshot": None, "in_log": None}


def _beside_log(different: int, *places: int) -> dict[str, Any]:
    ids = {"cluster_id": "c", "base_offset": 0, "end_offset": 9, "epoch": 1, "content_sha256": "a"}
    counts = {"different": different, "orphans": 1, "dropped": 0, "refused": 2}
    return {**NOTHING, **ids, **counts, "sample": [_difference(place) for place in places]}


def _run(refused: int, first: int | None, base: int = 0) -> dict[str, Any]:
    refusal = None if first is None else {"offset": first, "reason": "r"}
    run = {"cluster_id": "c", "base_offset": base, "end_offset": 9}
    return {**NOTHING, **run, "refused": refused, "first_refused": refusal}


def test_counts_add_up_and_the_first_differences_of_all_parts_are_kept() -> None:
    (row,) = folded([_beside_log(3, 2, 4), _beside_log(SAMPLE, *range(1, 2 * SAMPLE, 2))])
    counts = [row[name] for name in ("different", "orphans", "dropped", "refused")]
    assert counts == [SAMPLE + 3, 2, 0, 4]
    assert [one["place"] for one in row["sample"]] == [1, 2, 3, 4, 5, *range(7, 2 * SAMPLE - 4, 2)]
    assert row["explained_sample"] is None


def test_of_a_run_the_first_refusal_of_any_part_is_told() -> None:
    rows = folded([_run(1, 7), _run(0, None), _run(2, 3), _run(1, 20, base=12)])
    assert [(row["base_offset"], row["refused"]) for row in rows] == [(0, 3), (12, 1)]
    assert [row["first_refused"]["offset"] for row in rows] == [3, 20]
    assert rows[0]["different"] is None


def test_a_single_part_says_all() -> None:
    one = _beside_log(1, 5)
    assert folded([one]) == [one]
