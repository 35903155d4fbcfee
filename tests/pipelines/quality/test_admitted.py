"""The rows that a gate admits, as tasks read them."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipelines import delta
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.quality.admitted import Admitted
from pipelines.tables.gold import STATE_RANGES


def _admitted(lake: Lake, to_offset: int) -> Admitted:
    """What a gate admits of a new lake with one range of offsets."""
    delta.ensure_table(lake, STATE_RANGES)
    row = {"cluster_id": "a", "from_offset": 0, "to_offset": to_offset}
    delta.add_values(lake, STATE_RANGES, [row])
    return Admitted(lake, newest_versions(lake, [STATE_RANGES.name]))


def test_a_lake_made_again_at_the_same_path_is_read_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    first = _admitted(lake, 7)
    assert first.rows_of(STATE_RANGES)["to_offset"].to_pylist() == [7]
    shutil.rmtree(tmp_path / "lake")

    second = _admitted(lake, 8)

    assert second.versions == first.versions
    assert second.rows_of(STATE_RANGES)["to_offset"].to_pylist() == [8]
