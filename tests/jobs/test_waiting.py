"""Who has waited for another job goes by what that job left behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.lake import Lake
from pipelines.lake.schema_version import write_schema_version
from tests.jobs.waiting_job import said_behind_a_killed_forget


def test_maintain_refuses_a_lake_in_which_a_forget_was_killed_while_it_waited(
    tmp_path: Path,
) -> None:
    lake = str(tmp_path / "lake")
    write_deltalake(f"{lake}/bronze/captures", pa.table({"capture_id": ["c"]}))
    write_schema_version(Lake(lake))
    assert "starting Spark" not in said_behind_a_killed_forget("maintain", lake, tmp_path)
