"""What the gate asks: the ready-made question `doubts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.airflow.small_lake import write_small_lake
from tests.jobs.conftest import Kraftlake


@pytest.mark.parametrize(
    ("damaged", "broken", "doubts"),
    [
        (None, None, []),
        ("old", "warn", []),
        ("new", None, [("damage", "nodes/1/0.log", 1)]),
        (None, "quarantine", [("quarantine", "bronze.log_batches", 3)]),
        ("new", "stop", [("damage", "nodes/1/0.log", 1), ("stop", "bronze.log_batches", 3)]),
    ],
)
def test_doubts_are_damage_of_newest_captures_and_rows_that_the_newest_run_left_out(
    kraftlake: Kraftlake,
    tmp_path: Path,
    damaged: str | None,
    broken: str | None,
    doubts: list[tuple[str, str, int]],
) -> None:
    write_small_lake(tmp_path, damaged=damaged, broken=broken)
    ended = kraftlake("sql", "--lake", tmp_path, "--json", "--question", "doubts")
    assert ended.code == 0, ended.err
    told = [(row["what"], row["place"], row["unexpected_rows"]) for row in ended.rows]
    assert told == doubts


def test_races_of_a_running_node_are_no_findings(kraftlake: Kraftlake, tmp_path: Path) -> None:
    for kind in ("torn-tail", "changed-while-read"):
        write_small_lake(tmp_path, damaged="new", kind=kind)
        ended = kraftlake("sql", "--lake", tmp_path, "--json", "--question", "doubts")
        assert (ended.code, ended.rows) == (0, [])
