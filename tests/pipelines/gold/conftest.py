"""One lake of all that was edited to break rules: each build of a lake takes half a minute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.delta import Lake
from tests.pipelines.gold.damaged_nodes import write_damaged_nodes
from tests.pipelines.gold.disagreeing_nodes import write_disagreeing_nodes


@dataclass(frozen=True)
class Edited:
    """damaged, disagreeing: folders of directories, ingested in a call each. Read only."""

    damaged: Path
    disagreeing: Path
    lake: Lake


@pytest.fixture(scope="session")
def edited(spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Edited:
    from jobs.build import run as build
    from jobs.cli.commands.lake import BuildOptions, IngestOptions
    from jobs.ingest import run as ingest

    folder = tmp_path_factory.mktemp("edited")
    damaged, disagreeing = folder / "damaged", folder / "disagreeing"
    write_damaged_nodes(data, damaged)
    write_disagreeing_nodes(data, disagreeing)
    lake = str(folder / "lake")
    assert ingest(IngestOptions([str(damaged)], Lake(lake))) == 1
    assert (
        ingest(IngestOptions([str(disagreeing)], Lake(lake))) == 1
    )  # a record of node 2 doesn't decode
    assert build(BuildOptions(Lake(lake))) == 0
    return Edited(damaged, disagreeing, Lake(lake))
