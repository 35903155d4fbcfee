"""What `build` says about a lake that has nothing to build from."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main

pytestmark = pytest.mark.spark


def test_a_lake_without_bronze_tables_is_one_line_that_says_what_to_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["build", "--lake", str(tmp_path)])
    assert ending.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1] == (
        f"kraftlake: error: {tmp_path} has no bronze tables: run `kraftlake ingest --lake "
        f"{tmp_path} PATH...` first, or name another lake"
    )
    assert list(tmp_path.iterdir()) == []
