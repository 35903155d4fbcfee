"""A short form of the kills of Spark's processes; INGEST_KILLS.md has the long one."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import ingest_kills, spark_kills
from tests.fuzz.ingest_kills import BY_SPARK, By, Executors, kill_second, moments, tables

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JVM_ENDED = (
    "kraftlake: error: Spark's JVM was killed (SIGKILL), as the kernel kills where memory runs "
    "out: run this again; nothing that was committed is lost"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the first captures."""
    lake = tmp_path_factory.mktemp("kills") / "base"
    ingest_kills.first(lake)
    return lake


@pytest.fixture(scope="module")
def expected(base: Path) -> dict[str, list[str]]:
    """The tables of a second ingest that nobody disturbed."""
    lake = Path(shutil.copytree(base, base.with_name("whole")))
    ingest_kills.second(lake)
    return tables(lake)


def test_an_ingest_that_loses_its_jvm_says_so_in_one_line_and_the_next_one_goes_on(
    base: Path, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(base, tmp_path / "lake"))
    by = By(BY_SPARK, spark_kills.environment(tmp_path))
    for line in (": log records", ": snapshots"):
        kill = kill_second(lake, at_line=line, after_s=0.05, by=by, victim=spark_kills.kill_jvm)
        assert kill is not None
        assert kill.victim == spark_kills.JVM
        assert kill.fault is None
        told = (tmp_path / "lake.said").read_text().splitlines()
        assert [one for one in told if not one.startswith("ingest:")] == [JVM_ENDED]
    moments(lake, by)
    assert tables(lake) == expected


def test_an_ingest_that_loses_a_python_worker_for_good_says_so_in_one_line(
    base: Path, tmp_path: Path
) -> None:
    """Spark's local mode tries no task twice."""
    lake = Path(shutil.copytree(base, tmp_path / "lake"))
    by = By(BY_SPARK, spark_kills.environment(tmp_path))
    kill = kill_second(lake, at_line=": log records", by=by, victim=spark_kills.kill_python_worker)
    assert kill is not None
    assert kill.fault is None
    assert (tmp_path / "lake.said").read_text().splitlines()[-1] == (
        f"kraftlake: error: {lake}: processes of Spark's executors ended, as the kernel kills "
        "where memory runs out: run this again; nothing that was committed is lost"
    )


def test_an_ingest_whose_executors_and_python_workers_are_killed_makes_the_same_tables(
    base: Path, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(base, tmp_path / "lake"))
    with spark_kills.cluster(tmp_path) as (cluster, variables):
        kind = Executors(cluster, By(BY_SPARK, variables))
        done = kind.kills_on(lake, Random(1), [("", 0.0), ("", 40.0)], most=4)
    assert done.kills
    assert [kill.fault for kill in done.kills if kill.fault] == []
    assert tables(lake) == expected
