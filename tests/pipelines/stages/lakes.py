"""Lakes of recorded and of simulated clusters, built in several ways, and the content of their
tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines import build as building
from pipelines import large_clusters
from pipelines.build import build
from pipelines.cluster import branch
from pipelines.delta import Lake
from pipelines.runners.local import LocalRunner
from pipelines.runners.runner import Runner
from pipelines.stages import compare, large_cluster
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.pipelines.scenarios.played import ORDER, play


def add_scenarios(lake: Path, names: Iterable[str], code: int = 0) -> None:
    """Ingests named incidents into a lake, moment by moment. code: the exit code of the ingest, 1
    where files of an incident are damaged."""
    folder = lake.parent / "captures"
    for name in names:
        for moment in play(SCENARIOS_BY_NAME[name]).moments:
            write_capture(moment.capture, str(folder / moment.name / name))
    assert ingest(IngestOptions([str(folder)], Lake(lake), order=",".join(ORDER))) == code


def built(
    lake: Path,
    folder: Path,
    runner: Runner | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """A built copy of the lake. runner: by default a runner with one core."""
    shutil.copytree(lake, folder)
    build(Lake(folder), runner or LocalRunner(at_once=1), progress)
    return folder


def cut_in_pieces(patch: pytest.MonkeyPatch, most_readers: int = 16) -> None:
    """Makes builds derive each cluster in several stages, in hundreds of pieces, from now on. With
    Spark, the replay of a cluster with more than `most_readers` parts is by a shuffle."""
    patch.setattr(building, "_MOST_RECORDS", building._MOST_RECORDS // 2000)
    patch.setattr(branch, "_OFFSETS_AT_ONCE", 100)
    patch.setattr(large_clusters, "_RECORDS_OF_A_RANGE", 200)
    patch.setattr(large_clusters, "_LEAST_OF_BUCKETS", 50)
    patch.setattr(large_clusters, "_RECORDS_OF_A_BUCKET", 700)
    patch.setattr(large_clusters, "_MOST_READERS", most_readers)
    patch.setattr(large_cluster, "_STEPS_OF_A_RANGE", 200)
    patch.setattr(compare, "_ROWS_COMPARED", 50)
