"""Fixtures of all tests: recorded data, and the one Spark session of the run."""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from pipelines.lake import Lake
from tests.examples import PROFILE, examples
from tests.side_by_side import SHARED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ("tests.scenarios.plugin", "pytester")

# `ci` is the default: the same examples every time, so a failure comes from the change, not from
# chance. `quick`, which `make test` uses, tries a tenth of them. `dev` (HYPOTHESIS_PROFILE=dev)
# draws new examples, and more of them. No profile has a deadline, because a machine shared with a
# Spark session has slow moments.
for profile in ("quick", "ci"):
    settings.register_profile(
        profile,
        derandomize=True,
        deadline=None,
        max_examples=examples(100),
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile("dev", deadline=None, max_examples=500, print_blob=True)
settings.load_profile(PROFILE)


# A shell starts background processes with SIGINT ignored. The processes that tests start and
# interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# A lake that the developer's shell names must not become a test's lake.
os.environ.pop("KRAFTLAKE_LAKE", None)


# The collection makes only modules and tests, and they stay. Without this, the garbage collector
# took a fifth of its processor time.
gc.disable()


def pytest_unconfigure() -> None:
    """Keeps DuckDB's bindings quiet at the end. They would list on stderr, in fifty lines, the
    objects that are alive when the interpreter has ended. These are the library's own objects, and
    end with the process."""
    if "duckdb" in sys.modules:
        atexit.register(_quiet)


def _quiet() -> None:
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def pytest_collection_finish() -> None:
    """Saves the garbage collector work. The modules and tests of a run stay until its end, so the
    collector need not visit them: it took 2 to 4 % of the processor time of many small tests.
    Syntax trees and clusters that tests keep stay, too, so the collector runs seldom: it took a
    tenth of the time of tests/architecture."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session")
def data() -> Path:
    """The logs recorded from real Kafka clusters; tests must not write there."""
    return Path(__file__).parent / "data"


_FOR_SMALL_QUERIES = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A query of a few rows costs mostly its compilation. Without the JVM's second compiler such tests
take a sixth less processor time (105 s instead of 126 s). Without classes of Spark for each query
they take another seventh less (88 s instead of 102 s). Builds of whole lakes, which are slow, would
take more time so, and compile everything."""


@pytest.fixture(scope="session")
def spark(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """The Spark session of the whole run. It takes some 5 s to start, and 5 s more for its first
    Delta write."""
    # inside, so that tests without Spark don't pay for the import
    from pipelines.spark.session import spark_session

    warehouse = tmp_path_factory.mktemp("warehouse")
    on_interrupt = signal.getsignal(signal.SIGINT)
    session = spark_session(
        "kraftlake tests",
        extra_conf={
            "spark.master": "local[2]",
            "spark.sql.warehouse.dir": warehouse.as_uri(),
            # each table's snapshot keeps its plans: those of a thousand tables fill the heap
            "spark.databricks.delta.delta.log.cacheSize": "64",
            **(_FOR_SMALL_QUERIES if "not slow" in pytestconfig.getoption("markexpr") else {}),
        },
    )
    signal.signal(signal.SIGINT, on_interrupt)  # tests without Spark don't get pyspark's handler
    yield session
    session.stop()


@pytest.fixture(scope="session")
def recorded_lake(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bronze tables of both recorded clusters, their captures ingested in order. Read only."""
    from jobs.cli.commands.lake import IngestOptions
    from jobs.ingest import run

    clusters = [str(data / name) for name in ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")]

    def make(lake: Path) -> None:
        assert run(IngestOptions(clusters, Lake(lake), order="live,split,final")) == 0

    return _made_once("recorded", tmp_path_factory, make)


@pytest.fixture(scope="session")
def built_lake(recorded_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake of the demo: recorded_lake with silver and gold tables. Read only."""
    from jobs.build import run
    from jobs.cli.commands.lake import BuildOptions

    def make(lake: Path) -> None:
        shutil.copytree(recorded_lake, lake)
        assert run(BuildOptions(Lake(lake))) == 0

    return _made_once("built", tmp_path_factory, make)


def _made_once(
    name: str, tmp_path_factory: pytest.TempPathFactory, make: Callable[[Path], None]
) -> Path:
    """A lake. Of the processes of `make test`, the first one that needs it makes it for all."""
    shared = os.environ.get(SHARED)
    folder = Path(shared) / name if shared else tmp_path_factory.mktemp(name)
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lake = folder / "lake"
        if not lake.exists():
            making = tmp_path_factory.mktemp(f"making-{name}") / "lake"
            make(making)
            making.rename(lake)
    return lake
