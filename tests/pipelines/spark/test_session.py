"""Sessions come up quietly, with Delta and UTC, and say in one line what they lack."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from pipelines.conf_files import Defaults, conf_directory, read_defaults, read_properties
from pipelines.spark.jars import DELTA_JARS
from pipelines.spark.session import spark_session
from pipelines.spark.settings import client_settings
from replica.errors import UsageError

REPOSITORY = Path(__file__).parents[3]


def run_python(
    script: str, cwd: Path, *launcher: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a script as a process of its own in `cwd`, with only the repository on its path."""
    cwd.mkdir(exist_ok=True)
    path = cwd.parent / "script.py"
    path.write_text(textwrap.dedent(script))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.run(
        [*(launcher or (sys.executable,)), str(path)],
        cwd=cwd,
        env={**inherited, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class TestConfiguration:
    def test_the_checkout_s_files_are_found_and_read(self) -> None:
        folder = conf_directory()
        assert folder == REPOSITORY / "conf"
        assert read_defaults(folder) == Defaults(master=None, cores_max=8, jars_dir=None)
        settings = read_properties(folder / "spark-local.conf")
        assert settings["spark.driver.bindAddress"] == "127.0.0.1"
        assert settings["spark.ui.enabled"] == "false"

    def test_the_default_settings_of_spark_name_no_machine_and_no_cores(self) -> None:
        """spark-submit reads this file for a cluster, too."""
        settings = read_properties(REPOSITORY / "conf" / "spark-defaults.conf")
        assert settings
        only_local = ("spark.driver.", "spark.master", "spark.ui.", "spark.default.parallelism")
        assert not [key for key in settings if key.startswith(only_local)]

    def test_another_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KRAFTLAKE_CONF", str(tmp_path))
        assert conf_directory() == tmp_path
        assert read_defaults(tmp_path) == Defaults()
        (tmp_path / "kraftlake.toml").write_text('[spark]\nmaster = "local[3]"\n[ingest]\nx = 1\n')
        assert read_defaults(tmp_path) == Defaults(master="local[3]")

        monkeypatch.setenv("KRAFTLAKE_CONF", str(tmp_path / "nope"))
        with pytest.raises(UsageError, match="is no folder"):
            conf_directory()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[spark]\ncores = 3", r"\[spark\] cores = 3 is not understood; known are"),
            ('[spark]\ncores_max = "3"', r"\[spark\] cores_max = '3' is not understood"),
            ("[spark]\ncores_max = true", r"\[spark\] cores_max = True is not understood"),
            ("[jars]\nmaster = 'x'", r"\[jars\] master = 'x' is not understood"),
            ("spark = 1", r"\[spark\] is not a table"),
            ("[spark", "kraftlake.toml: "),
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "kraftlake.toml").write_text(text)
        with pytest.raises(UsageError, match=message):
            read_defaults(tmp_path)

    def test_properties(self, tmp_path: Path) -> None:
        path = tmp_path / "p.conf"
        path.write_text("# c\n! c\n\na.b   c d \ne=f=g\nh : i\nj\nk = -Dx=y\n")
        assert read_properties(path) == {
            "a.b": "c d",
            "e": "f=g",
            "h": "i",
            "j": "",
            "k": "-Dx=y",
        }
        assert read_properties(tmp_path / "absent") == {}


@pytest.mark.spark
class TestRunning:
    def test_settings(self, spark: SparkSession) -> None:
        settings = {
            key: spark.conf.get(key)
            for key in (
                "spark.sql.session.timeZone",
                "spark.sql.shuffle.partitions",
                "spark.databricks.delta.snapshotPartitions",
                "spark.ui.enabled",
                "spark.driver.host",
                "spark.sql.execution.arrow.pyspark.enabled",
                "spark.sql.catalogImplementation",
                "spark.sql.ansi.enabled",
            )
        }
        assert list(settings.values()) == [
            "UTC",
            "2",
            "2",
            "false",
            "127.0.0.1",
            "true",
            "in-memory",
            "true",
        ]

    def test_times_are_utc(self, spark: SparkSession) -> None:
        row = spark.sql("SELECT string(timestamp_millis(0)) AS t").collect()[0]
        assert datetime.fromisoformat(row["t"]) == datetime(1970, 1, 1)  # noqa: DTZ001

    def test_workers_run_this_interpreter(self, spark: SparkSession) -> None:
        interpreter = udf(lambda _: sys.executable)
        row = spark.range(1).select(interpreter("id").alias("python")).collect()[0]
        assert row["python"] == sys.executable

    def test_a_running_session_is_adopted_and_keeps_its_settings(self, spark: SparkSession) -> None:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        again = spark_session(
            "other",
            lake="/some/lake",
            extra_conf={
                "spark.master": "local[7]",
                "spark.sql.shuffle.partitions": "99",
                "spark.sql.files.maxRecordsPerFile": "5",
            },
        )
        try:
            assert again.sparkContext.master == "local[2]"
            assert again.conf.get("spark.sql.session.timeZone") == "UTC"
            assert again.conf.get("spark.sql.shuffle.partitions") == "2"
            assert again.conf.get("spark.sql.files.maxRecordsPerFile") == "5"
            assert again.conf.get("spark.kraftlake.lake") == "/some/lake"
        finally:
            spark.conf.unset("spark.sql.files.maxRecordsPerFile")


@pytest.mark.spark
@pytest.mark.slow
def test_a_new_session_is_quiet_tidy_and_can_be_had_again(tmp_path: Path) -> None:
    """Another Spark in SPARK_HOME and a PYSPARK_PYTHON that isn't there do no harm, and stay.
    Spark's scratch files, which hold rows, are the user's only, and go with the process."""
    (tmp_path / "tmp").mkdir()
    ran = run_python(
        f"""
        import os
        from pathlib import Path
        from pipelines.spark.session import spark_session

        names = ("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "PYSPARK_PYTHON")
        before = [os.environ.get(name) for name in names]
        for attempt in range(2):
            spark = spark_session("quiet", extra_conf={{"spark.sql.shuffle.partitions": "3"}})
            spark.range(4).write.format("delta").mode("append").save({str(tmp_path / "t")!r})
            spark.sql("CREATE SCHEMA s")
            count = spark.read.format("delta").load({str(tmp_path / "t")!r}).count()
            print(count, spark.conf.get("spark.sql.shuffle.partitions"))
            temporary = Path(os.environ["TMPDIR"])
            (manager,) = temporary.rglob("blockmgr-*")
            print({{oct(folder.stat().st_mode & 0o777) for folder in temporary.iterdir()}})
            spark.stop()
        print([os.environ.get(name) for name in names] == before)
        """,
        tmp_path / "cwd",
        SPARK_HOME=str(tmp_path / "another-spark"),
        PYSPARK_PYTHON="/no/such/python",
        TMPDIR=str(tmp_path / "tmp"),
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["4 3", "{'0o700'}", "8 3", "{'0o700'}", "True"]
    assert ran.stderr == ""
    assert list((tmp_path / "cwd").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


COLLECTORS = pytest.mark.parametrize(
    ("variable", "options", "collector"),
    [
        ("", "-Dx=1", "PS"),
        ("", "-Dx=1 -XX:+UseG1GC", "G1"),
        ("-XX:+UseG1GC", "-Dx=1", "G1"),
    ],
)
"""PS is the name that the JVM has for the parallel collector, which conf/spark-local.conf names."""


@COLLECTORS
def test_the_settings_name_no_garbage_collector_beside_the_user_s(
    monkeypatch: pytest.MonkeyPatch, variable: str, options: str, collector: str
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", variable)
    settings = client_settings({"spark.driver.extraJavaOptions": options})
    ours = settings.get("spark.driver.defaultJavaOptions", "")
    assert ("UseParallelGC" in ours) == (collector == "PS")
    assert settings["spark.driver.extraJavaOptions"] == options


@pytest.mark.spark
@pytest.mark.slow
@COLLECTORS
def test_a_garbage_collector_that_the_user_chose_is_the_only_one_of_the_jvm(
    tmp_path: Path, variable: str, options: str, collector: str
) -> None:
    """With two of them no JVM starts."""
    ran = run_python(
        f"""
        from pipelines.spark.session import spark_session

        spark = spark_session("x", extra_conf={{"spark.driver.extraJavaOptions": {options!r}}})
        beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
        print(beans[0].getName())
        spark.stop()
        """,
        tmp_path / "cwd",
        JAVA_TOOL_OPTIONS=variable,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(collector)
    assert ran.stderr == ""


@pytest.mark.spark
@pytest.mark.slow
def test_spark_submit_keeps_its_settings_and_needs_no_jars(tmp_path: Path) -> None:
    scripts = Path(sys.executable).parent
    ran = run_python(
        f"""
        from pipelines.spark.session import spark_session

        spark = spark_session("job", lake="/l")
        spark.range(4).write.format("delta").save({str(tmp_path / "t")!r})
        for key in ("spark.master", "spark.sql.shuffle.partitions", "spark.jars",
                    "spark.databricks.delta.snapshotPartitions", "spark.sql.session.timeZone"):
            print(spark.conf.get(key))
        """,
        tmp_path / "cwd",
        str(scripts / "spark-submit"),
        "--master",
        "local[1]",
        "--conf",
        "spark.sql.shuffle.partitions=5",
        "--conf",
        "spark.sql.session.timeZone=Asia/Tokyo",
        PATH=f"{scripts}:{os.environ['PATH']}",
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    master, partitions, jars, snapshot, zone = ran.stdout.splitlines()
    assert (master, partitions, snapshot, zone) == ("local[1]", "5", "2", "UTC")
    assert [Path(jar).name for jar in jars.split(",")] == [jar.file_name for jar in DELTA_JARS]


@pytest.mark.spark
@pytest.mark.slow
def test_a_foreign_session_without_delta_is_refused_until_it_stops(tmp_path: Path) -> None:
    ran = run_python(
        f"""
        from pyspark.sql import SparkSession
        from pipelines.spark.session import spark_session
        from replica.errors import UsageError

        foreign = SparkSession.builder.master("local[1]").getOrCreate()
        try:
            spark_session("x")
        except UsageError as error:
            print(error)
        foreign.stop()
        spark_session("x").range(4).write.format("delta").save({str(tmp_path / "t")!r})
        """,
        tmp_path / "cwd",
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "a Spark session without Delta is running" in ran.stdout


@pytest.mark.spark
def test_a_jvm_that_does_not_start_is_one_line(tmp_path: Path) -> None:
    ran = run_python(
        """
        from pipelines.spark.session import spark_session
        from replica.errors import UsageError

        try:
            spark_session("x", extra_conf={"spark.driver.memory": "1000000g"})
        except UsageError as error:
            print(error)
        """,
        tmp_path / "cwd",
    )
    assert ran.stdout.startswith("Spark's JVM did not start; what it printed is above."), ran.stderr
    assert "Could not reserve enough space" in ran.stderr
