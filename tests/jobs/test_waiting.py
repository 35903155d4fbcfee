"""Who has waited for another job goes by what that job left behind."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs import maintain
from pipelines import forgetting
from pipelines.forgetting import Targets
from pipelines.lake_lock import locked
from pipelines.schema_version import write_schema_version
from replica.errors import UsageError


def test_maintain_refuses_a_lake_in_which_a_forget_was_killed_while_it_waited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path)
    write_deltalake(str(tmp_path / "bronze" / "captures"), pa.table({"capture_id": ["c"]}))
    write_schema_version(lake)
    refused: list[UsageError] = []

    def waits() -> None:
        try:
            maintain.run(lake=lake)
        except UsageError as error:
            refused.append(error)

    thread = threading.Thread(target=waits)
    with locked(lake, lambda: None):
        thread.start()
        said = ""
        while "waiting for it to end" not in said:
            assert thread.is_alive()
            said += capsys.readouterr().err
        forgetting.begin(lake, Targets(captures=frozenset(["c"])))
    thread.join()

    assert len(refused) == 1
    assert "was interrupted: run `kraftlake forget --lake" in str(refused[0])
    assert "starting Spark" not in capsys.readouterr().err
