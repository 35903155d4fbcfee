"""The record of statements about simulated clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contradictions.record import RECORD, Counts, record
from tests.contradictions.statements import held, right, unknown
from tests.contradictions.test_contradictions import TRUTH_RULES


def test_counts_of_several_runs_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTRADICTION_COUNTS", str(tmp_path))
    for seeds in (range(2), range(2, 4)):
        counts = Counts(seeds)
        counts.clusters = 3
        counts.add("made_up", [right("check", 2), held("check", is_true=False, what="made")])
        counts.add("made_up", [unknown("recover")])
        counts.keep()
    told = record(tmp_path)
    assert "seeds 0 to 3:\n6 clusters" in told
    assert "8 statements: 4 right, 2 unknown, 0 hidden, 2 wrong." in told
    assert "| made up | check | 4 | 0 | 0 | 2 |" in told


def test_a_seed_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTRADICTION_COUNTS", str(tmp_path))
    Counts(range(3)).keep()
    Counts(range(2, 4)).keep()
    with pytest.raises(AssertionError, match="seeds that another file has"):
        record(tmp_path)


def test_the_record_has_every_rule_and_nothing_wrong() -> None:
    rows = [line.split(" | ") for line in RECORD.read_text().splitlines() if " | " in line]
    rows = [row for row in rows if row[-1].rstrip(" |").replace(",", "").isdigit()]
    assert {row[0].removeprefix("| ").replace(" ", "_") for row in rows} == {
        rule.__name__ for rule in TRUTH_RULES
    }
    assert {row[-1] for row in rows} == {"0 |"}
