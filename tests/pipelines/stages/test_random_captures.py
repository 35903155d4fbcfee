"""Whatever was captured, Spark's executors and the processes of this machine make the same tables.

Each seed draws clusters that the simulator ran under faults: whole, without some disks, with an
older disk, in one to three rounds. From these captures it takes nodes, cuts files, loses files and
flips bits. RANDOM_CAPTURES=a:b runs other seeds; with REWRITE_RESULTS=1 their rows are written into
RANDOM_CAPTURES.md.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import main as ingest
from pipelines.lake import Lake
from pipelines.lake.equality import differing_tables
from pipelines.lake.redaction import FILE_NAME
from pipelines.runners.chosen import Engine
from replica.simulate.node_files import Files
from tests.contradictions.answers import write
from tests.contradictions.clusters import (
    Given,
    seed,
    seed_that_went_back,
    seed_with_lost_disks,
    seed_with_old_disk,
)
from tests.interop.result_page import hold
from tests.pipelines.lake_rows import rows

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # .ci/run runs them behind `make test`

CLUSTERS = 5
_RECORD = Path(__file__).with_name("RANDOM_CAPTURES.md")
_COUNTED = ("bronze.captures", "bronze.damage", "bronze.log_records", "gold.metadata_changes")
_CAPTURED_AT = "2026-11-29T05:00Z"
_FIRST, _LAST = map(int, os.environ.get("RANDOM_CAPTURES", "0:2").split(":"))
_FORMS = (
    lambda whole, _: whole,
    seed_with_lost_disks,
    seed_with_old_disk,
    seed_that_went_back,
)


@pytest.mark.parametrize("number", range(_FIRST, _LAST))
def test_both_engines_make_the_same_tables_of_any_captures(
    number: int, spark: SparkSession, tmp_path: Path
) -> None:
    draws = Random(f"captures {number}")
    captures = tmp_path / "captures"
    for cluster in draws.sample(range(10_000), CLUSTERS):
        _write(_drawn(draws, cluster), captures, draws)
    rounds = sorted(one.name for one in captures.iterdir())
    order = ",".join(rounds) if len(rounds) > 1 else None
    lakes = {engine: Lake(tmp_path / engine.value) for engine in (Engine.SPARK, Engine.LOCAL)}
    codes = set()
    for engine, lake in lakes.items():
        _share_the_redaction_key(lakes[Engine.SPARK], lake)
        asked = IngestOptions(
            [str(captures)], lake, captured_at=_CAPTURED_AT, order=order, accept_damage=True,
            engine=engine, then_build=True,
        )  # fmt: skip
        session = spark if engine is Engine.SPARK else None
        codes.add(ingest(session, asked))
    assert codes in ({0}, {1}), "1 where bronze.damage has a row"
    compared, differing = differing_tables(*lakes.values())
    assert (compared > 20, differing) == (True, [])
    counts = (_count(lakes[Engine.LOCAL], table) for table in _COUNTED)
    hold(_RECORD, (str(number),), (str(len(rounds)), *counts, str(compared)))


def _count(lake: Lake, table: str) -> str:
    (found,) = rows(lake.folder, f"SELECT count(*) AS n FROM {table}")
    return f"{found.n:,}"


def _drawn(draws: Random, number: int) -> Given:
    """A simulated cluster of this seed in one of its forms."""
    whole = seed(number)
    return draws.choice(_FORMS)(whole, number) or whole


def _write(given: Given, captures: Path, draws: Random) -> None:
    """What somebody captured of the cluster: each round without a tenth of its nodes, and of a
    tenth of the nodes with damage."""
    for look, nodes in given.looks.items():
        taken = {node_id: files for node_id, files in nodes.items() if draws.random() > 0.1}
        damaged = {
            node_id: dict(_damaged(files, draws)) if draws.random() < 0.1 else files
            for node_id, files in taken.items()
        }
        write(damaged, captures / look / given.name)


def _damaged(files: Files, draws: Random) -> Iterator[tuple[str, bytes]]:
    """The files without one of them, or with one that is cut or has a flipped bit."""
    chosen = draws.choice(sorted(files))
    kind = draws.choice(["lost", "cut", "flipped"])
    for name, data in files.items():
        if name != chosen or not data:
            yield name, data
        elif kind == "cut":
            yield name, data[: draws.randrange(len(data))]
        elif kind == "flipped":
            at = draws.randrange(len(data))
            yield name, data[:at] + bytes([data[at] ^ (1 << draws.randrange(8))]) + data[at + 1 :]


def _share_the_redaction_key(first: Lake, lake: Lake) -> None:
    """Fingerprints of secrets are compared too, and a lake's key makes them."""
    lake.folder.mkdir(parents=True)
    key = first.folder / FILE_NAME
    if lake is not first:
        shutil.copyfile(key, lake.folder / FILE_NAME)
