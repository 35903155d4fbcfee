"""A short form of the campaign on hostile lakes in every run: HOSTILE_LAKES.md has the long one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.hostile_lakes import BY_SPARK, PLAIN, Command, judge, make_outside
from tests.fuzz.lake_faults import FAULTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READING = [one for one in PLAIN if not one.writes and one.words[0] in ("sql", "lake", "export")]


@pytest.fixture(scope="module")
def base(built_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile") / "base"
    shutil.copytree(built_lake, place)
    return place


@pytest.mark.parametrize("seed", range(4))
def test_no_hostile_lake_makes_a_command_do_harm(base: Path, tmp_path: Path, seed: int) -> None:
    for command in random.Random(seed).sample(READING, 3):
        assert judge(base, tmp_path, seed, command, here=True) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 32))
def test_no_hostile_lake_makes_any_command_do_harm(base: Path, tmp_path: Path, seed: int) -> None:
    for command in random.Random(seed).sample(PLAIN, 4):
        assert judge(base, tmp_path, seed, command, here=True) is None


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(3))
def test_no_hostile_lake_makes_spark_do_harm(
    spark: SparkSession, base: Path, tmp_path: Path, seed: int
) -> None:
    asking = [one for one in BY_SPARK if not one.writes]  # `maintain` of a lake takes a minute
    for command in random.Random(seed).sample(asking, 2):
        assert judge(base, tmp_path, seed, command, here=True) is None
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("kraftlake.canary") is None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.__name__)
def test_every_fault_changes_a_lake_and_can_be_made_again(
    base: Path, tmp_path: Path, fault: object
) -> None:
    assert callable(fault)
    table = ("gold", "findings")
    told = []
    for name in ("a", "b"):
        shutil.copytree(base, tmp_path / name)
        told.append(fault(random.Random(5), (tmp_path / name).joinpath(*table)))
    assert told[0].replace("/a/", "/") == told[1].replace("/b/", "/")


def test_a_command_that_opens_what_lies_beside_is_found(base: Path, tmp_path: Path) -> None:
    make_outside(tmp_path / "outside")
    reads = Command(("dump", str(tmp_path / "outside" / "secret.txt")))
    found = judge(base, tmp_path, 1, reads, here=True)
    assert found is not None
    assert "opened ['secret.txt']" in found.what
