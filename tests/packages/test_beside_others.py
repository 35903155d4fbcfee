"""The wheel in an environment whose user has packages called jobs, pipelines and replica, and a
checkout beside an installed one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.building import REPOSITORY, copy_of_the_checkout
from tests.packages.installing import Installation, install_core
from tests.packages.test_one_name import MOVED

pytestmark = pytest.mark.slow
_JOBS = "print('a job of the user')\n"
_SPARK = """
import kraftlake, sys
spark = kraftlake.spark_session("beside", extra_conf={"spark.master": "local[1]"})
kraftlake.register(spark)
logs = spark.read.format("kraft_log").load(sys.argv[1])
print("records", logs.count(), kraftlake.divergence_points(logs).count())
lake = kraftlake.open_lake(sys.argv[2])
print("rows", lake.dataframe(spark, "gold.findings").count(), lake.arrow("gold.findings").num_rows)
"""


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = install_core(wheel, tmp_path_factory.mktemp("beside") / "venv", extra="lake")
    for name in MOVED:
        package = made.site_packages / name
        package.mkdir()
        (package / "__init__.py").write_text(_JOBS)
    return made


@pytest.fixture(scope="module")
def lake(installed: Installation, tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """Built by the installed command, by the local engine."""
    folder = tmp_path_factory.mktemp("made")
    split = data / "kafka-4.1.1-dynamic" / "split"
    done = installed.kraftlake("ingest", "--lake", "lake", split, "--build", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "lake"


def test_the_commands_never_run_the_user_s_packages(
    installed: Installation, lake: Path, data: Path, tmp_path: Path
) -> None:
    split = data / "kafka-4.1.1-dynamic" / "split"
    for words in (
        ("check", split),
        ("what-happened", split),
        ("timeline", split),
        ("dump", "--type", "LEADER_CHANGE", split),
        ("explain", "--runbook", "two-quorums"),
        ("simulate", "--seeds", "0:3", "--events", "20", "--jobs", "2"),
        ("sql", "--lake", lake, "--question", "findings"),
        ("quality", "--lake", lake),
        ("report", "--lake", lake, "-o", "report.html"),
    ):
        done = installed.kraftlake(*words, cwd=tmp_path)
        assert done.returncode in (0, 1), (words, done.stderr)
        assert "a job of the user" not in done.stdout
        assert "error" not in done.stderr, (words, done.stderr)
    mine = installed.python("-c", "import jobs", cwd=tmp_path)
    assert mine.stdout == "a job of the user\n"


def test_spark_and_its_executors_find_the_installed_code(
    installed: Installation, lake: Path, data: Path, tmp_path: Path
) -> None:
    split = data / "kafka-4.1.1-dynamic" / "split"
    done = installed.python("-c", _SPARK, split, lake, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a job of the user" not in done.stdout
    assert done.stdout.splitlines()[-2:] == ["records 11232 10", "rows 9 9"]


@pytest.mark.parametrize("ships", [False, True], ids=["installed", "shipped by --py-files"])
def test_spark_submit_starts_a_job_of_the_wheel(
    installed: Installation, wheel: Path, data: Path, tmp_path: Path, *, ships: bool
) -> None:
    environment = installed
    job, shipped = installed.site_packages / "kraftlake" / "jobs" / "ingest.py", ()
    if ships:  # as on a cluster whose environment has the packages, and not our code
        zipped = shutil.copy(wheel, tmp_path / "kraftlake.zip")
        job, shipped = shutil.copy(job, tmp_path / "ingest.py"), ("--py-files", zipped)
        environment = Installation(tmp_path / "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"])
        for one in installed.site_packages.iterdir():
            if not one.name.startswith(("kraftlake", "pyspark_kraft")):
                (environment.site_packages / one.name).symlink_to(one.resolve())
    python = str(environment.folder / "bin" / "python")
    done = environment._run(
        Path(sys.executable).with_name("spark-submit"),
        ("--master", "local[1]", *shipped, job, "--lake", "lake", "--json",
         data / "kafka-3.7.2-static" / "split"),
        tmp_path,
        {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert '{"table":"bronze.captures","rows":5}' in done.stdout
    assert "a job of the user" not in done.stdout


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """A checkout that isn't the one that the environment of the tests leads to. A module says
    whose it is."""
    folder = copy_of_the_checkout(tmp_path / "second")
    (folder / "replica" / "whose.py").write_text("print(__file__)\n")
    return folder


def of_the_checkout(
    second: Path, *words: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    hidden = ("PYTHONPATH", "KRAFTLAKE_", "SPARK_", "PYSPARK_")
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=second,
        env={k: v for k, v in os.environ.items() if not k.startswith(hidden)} | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_second_checkout_runs_its_own_code_in_the_processes_that_it_starts(second: Path) -> None:
    code = (
        "import subprocess\n"
        "from replica.import_path import environment, python_of\n"
        "subprocess.run(python_of('replica.whose'), cwd='/', env=environment(), check=True)\n"
    )
    done = of_the_checkout(second, "-c", code)
    assert (done.stdout, done.stderr) == (f"{second}/replica/whose.py\n", "")


def test_a_second_checkout_runs_its_own_code_in_spark_s_executors(second: Path) -> None:
    code = (
        "import json, kraftlake\n"
        "spark = kraftlake.spark_session('two', extra_conf={'spark.master': 'local[1]'})\n"
        "def whose(_):\n"
        "    import pipelines, replica\n"
        "    yield pipelines.__file__\n"
        "    yield replica.__file__\n"
        "print(json.dumps(spark.sparkContext.parallelize([0], 1).mapPartitions(whose).collect()))\n"
    )
    done = of_the_checkout(second, "-c", code)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [f"{second}/{name}/__init__.py" for name in ("pipelines", "replica")]


def test_a_job_of_a_second_checkout_is_refused_where_python_imports_the_first(
    second: Path,
) -> None:
    first = {"PYTHONPATH": str(REPOSITORY)}
    done = of_the_checkout(second, second / "jobs" / "build.py", "--lake", "lake", **first)
    assert done.returncode == 2
    assert f"{second}/jobs/build.py: Python imports " in done.stderr
    assert done.stderr.endswith(f"run `export PYTHONPATH={second}` first\n")
