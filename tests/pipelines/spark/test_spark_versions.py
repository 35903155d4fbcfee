"""Another Spark or Delta than ours is told by name, before anything starts."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyspark
import pytest

from pipelines.spark.jars import DELTA_JARS, DELTA_VERSION
from pipelines.spark.session_jars import SPARK_VERSION, check_installed, names_delta
from replica.errors import UsageError

REPOSITORY = Path(__file__).parents[3]


def test_the_releases_are_those_of_pyproject_and_those_installed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    lake = project["optional-dependencies"]["lake"]
    assert f"delta-spark=={DELTA_VERSION}" in lake
    assert [line for line in lake if line.startswith(f"pyspark=={SPARK_VERSION}.")]
    check_installed()


@pytest.mark.parametrize("version", ["4.1.1", "3.5.7", "4.20.0", "5.0.0.dev1"])
def test_another_spark_is_named(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(UsageError, match=f"has pyspark {version}, kraftlake needs 4.2: .+ -m pip"):
        check_installed()


def test_a_later_patch_of_the_same_spark_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.3")
    check_installed()


@pytest.mark.parametrize(
    "named",
    [
        f"/opt/{DELTA_JARS[0].file_name}",
        f"https://host/{DELTA_JARS[0].file_name}",
        f"/a/b.jar,/c/{DELTA_JARS[0].file_name},/d.jar",
        f"io.delta:{DELTA_JARS[0].module}:{DELTA_VERSION}",
        f"jar:file:/x/{DELTA_JARS[0].file_name}!/io/delta/tables/DeltaTable.class",
    ],
)
def test_our_delta_is_known_however_it_is_named(named: str) -> None:
    assert names_delta([named])
    assert names_delta(["", named])


@pytest.mark.parametrize("named", ["", "/a/b.jar", "io.delta:delta-storage:4.4.0", "delta.jar"])
def test_other_packages_are_not_delta(named: str) -> None:
    assert not names_delta([named])


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("/j/delta-spark_4.2_2.12-4.4.0.jar", "delta-spark_4.2_2.12-4.4.0"),
        ("/j/delta-spark_4.1_2.13-4.4.0.jar", "delta-spark_4.1_2.13-4.4.0"),
        ("/j/delta-spark_4.2_2.13-4.4.1.jar", "delta-spark_4.2_2.13-4.4.1"),
        ("/j/delta-core_2.12-2.4.0.jar,/j/delta-storage-2.4.0.jar", "delta-core_2.12-2.4.0"),
        ("io.delta:delta-spark_2.13:4.0.0", "delta-spark_2.13-4.0.0"),
        ("a:b:1,io.delta:delta-spark_2.12:3.2.0,c:d:2", "delta-spark_2.12-3.2.0"),
        ("jar:file:/x/delta-spark_2.13-3.3.0.jar!/io/delta/X.class", "delta-spark_2.13-3.3.0"),
    ],
)
def test_another_delta_spark_or_scala_is_named_with_the_jars_to_take(named: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        names_delta([named])
    assert str(caught.value).startswith(f"{told} is another Delta than kraftlake's: take ")
    assert all(jar.file_name in str(caught.value) for jar in DELTA_JARS)
