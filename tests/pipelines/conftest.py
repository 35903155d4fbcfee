"""Lakes of recorded captures, each made once for the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")
CAPTURES = ("live", "split", "final")


@pytest.fixture(scope="session")
def recorded_lake(
    spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Bronze tables of both recorded clusters, their captures ingested in order. Read only."""
    from jobs.ingest import run

    lake = tmp_path_factory.mktemp("recorded") / "lake"
    code = run([str(data / name) for name in CLUSTERS], lake=str(lake), order=CAPTURES)
    assert code == 0
    return lake
