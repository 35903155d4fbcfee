"""One lake of all directories that were edited to break rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.asking.sql_delta_rs import named_rows
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from pipelines.dialects import Sql
from pipelines.lake import Lake
from tests.pipelines.gold.damaged_nodes import write_damaged_nodes
from tests.pipelines.gold.disagreeing_nodes import write_disagreeing_nodes


@dataclass(frozen=True)
class Edited:
    """The lake. damaged, disagreeing: folders of directories, each ingested in one
    call. Read only."""

    damaged: Path
    disagreeing: Path
    lake: Lake

    def rows(self, query: Sql) -> Sequence[dict[str, Any]]:
        """The rows that a query of the lake gives."""
        return [*named_rows(self.lake, query)]


@pytest.fixture(scope="session")
def edited(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Edited:
    from jobs.build import run as build
    from jobs.ingest import run as ingest

    folder = tmp_path_factory.mktemp("edited")
    damaged, disagreeing = folder / "damaged", folder / "disagreeing"
    write_damaged_nodes(data, damaged)
    write_disagreeing_nodes(data, disagreeing)
    lake = Lake(str(folder / "lake"))
    assert ingest(IngestOptions([str(damaged)], lake)) == 1
    assert ingest(IngestOptions([str(disagreeing)], lake)) == 1  # a record of node 2 doesn't decode
    assert build(BuildOptions(lake)) == 0
    return Edited(damaged, disagreeing, lake)
