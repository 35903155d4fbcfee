"""Who has waited for another job goes by what that job left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from pipelines import forgetting
from pipelines.forgetting import Targets
from pipelines.lake_lock import locked
from pipelines.schema_version import write_schema_version
from tests.kraftlake_process import WITHIN_S, started


def test_maintain_refuses_a_lake_in_which_a_forget_was_killed_while_it_waited(
    tmp_path: Path,
) -> None:
    lake, said = str(tmp_path / "lake"), tmp_path / "said.txt"
    write_deltalake(f"{lake}/bronze/captures", pa.table({"capture_id": ["c"]}))
    write_schema_version(lake)
    with locked(lake, lambda: None):
        process = started(said, "maintain", "--lake", lake)
        while "waiting for it to end" not in said.read_text():
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)
        forgetting.begin(lake, Targets(captures=frozenset(["c"])))
    assert process.wait(WITHIN_S) == 2, said.read_text()
    assert "was interrupted: run `kraftlake forget --lake" in said.read_text()
    assert "starting Spark" not in said.read_text()
