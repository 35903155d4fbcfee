"""Commands started in a folder of a stranger, which has a module for each name that Python or
kraftlake imports and a file for each tool that looks for settings: none of them is taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path

import pyspark
import pytest

from replica.import_path import without_current_folder
from replica.scan.compiled import KERNELS
from replica.scan.compiler import compile_kernel
from tests.jobs.directory_commands import READING, REHEARSE
from tests.kraftlake_process import REPOSITORY

DATA = REPOSITORY / "tests/data"
LIVE, FINAL = DATA / "kafka-4.1.1-dynamic/live", DATA / "kafka-4.1.1-dynamic/final"
BEFORE_ANY_CODE = ("pkgutil", "runpy", "types", "typing")
"""What Python's -m imports before the module."""
STARTED_BY_SPARK_SUBMIT = "jobs/forget.py"
SPARK = Path(pyspark.__file__).parent
PACKAGES = ("email", "json", "multiprocessing", "numpy", "pyspark", "replica", "pipelines", "jobs")
"""The shadows of these are folders with an __init__.py, all others single files."""
KERNEL = KERNELS[0].name
PROPERTIES = "spark.driver.extraJavaOptions=-Dstrange=1\nspark.master=spark://127.0.0.1:9\n"
SETTINGS = {
    "openlineage.yml": "transport: {type: file, log_file_path: victim, append: true}\n",
    ".numba_config.yaml": "cpu_name: generic\nopt: 0\n",
    ".env": "FASTMCP_LOG_FILE=victim\nSPARK_HOME=/nowhere\nJAVA_HOME=/nowhere\n",
    "pyproject.toml": "no toml",
    "conf/kraftlake.toml": "[spark]\nmaster = 'spark://127.0.0.1:9'\n",
    "kraftlake.toml": "[spark]\nmaster = 'spark://127.0.0.1:9'\n",
    "spark-defaults.conf": PROPERTIES,
    "conf/spark-defaults.conf": PROPERTIES,
    "conf/spark-env.sh": "touch victim\n",
    "spark-env.sh": "touch victim\n",
    "core-site.xml": "no xml",
    "hive-site.xml": "no xml",
    "gx/great_expectations.yml": ": no yaml",
    "great_expectations/great_expectations.yml": ": no yaml",
    ".duckdbrc": "COPY (SELECT 1) TO 'victim';\n",
    ".hotspotrc": "+PrintFlagsFinal\n",
    "hadoop-metrics2.properties": "*.period=1\n*.sink.file.class="
    "org.apache.hadoop.metrics2.sink.FileSink\n*.sink.file.filename=victim\n",
}


def shadowed() -> Iterable[str]:
    ours = ("sitecustomize", "usercustomize", "replica", "pipelines", "jobs")
    names = {*sys.stdlib_module_names, *packages_distributions(), *ours}
    return sorted(name for name in names if name.isidentifier())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "unpacked"
    folder.mkdir()
    for name in shadowed():
        code = f"open({str(folder.parent / 'ran')!r}, 'a').write({name + chr(10)!r})\n"
        code += "raise SystemExit(9)\n"
        file = folder / name / "__init__.py" if name in PACKAGES else folder / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(code)
    for name, content in SETTINGS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    script = folder.parent / "bin/kraftlake"  # as pip writes it
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom jobs.cli.start import main\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    script.chmod(0o755)
    return folder


Ran = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ran(hostile: Path) -> Ran:
    """Runs the command in the folder, and fails where something of the folder ran, was obeyed or
    was changed."""
    return partial(ran_in, hostile, [str(hostile.parent / "bin/kraftlake")])


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    kept["PYSPARK_DRIVER_PYTHON"] = sys.executable  # for spark-submit
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}


def ran_in(
    folder: Path, command: list[str], *arguments: object, code: tuple[int, ...] = (0, 1, 4)
) -> subprocess.CompletedProcess[str]:
    before = files_in(folder)
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert nothing_ran(folder), arguments
    assert files_in(folder) == before, arguments
    assert done.returncode in code, (arguments, done.stderr[-2000:])
    assert "internal error" not in done.stderr
    return done


def nothing_ran(folder: Path) -> bool:
    return not (folder.parent / "ran").exists()


def files_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_what_reads_directories_takes_nothing_from_the_folder(ran: Ran, tmp_path: Path) -> None:
    node = LIVE / "1"
    for command, forms in READING.items():
        ran(command, *forms[0], node)
    ran("diff", node, LIVE / "3")
    ran("rehearse", *REHEARSE, LIVE)
    ran("capture", node, "-o", tmp_path / "taken/1")
    ran("redact", node, "-o", tmp_path / "redacted")
    ran("prune", "--older-than", "1h", tmp_path / "taken")
    ran("explain")
    ran("completion", "bash")
    ran("--version")


@pytest.mark.slow
def test_what_starts_processes_takes_nothing_from_the_folder(ran: Ran, tmp_path: Path) -> None:
    seeds = ran("simulate", "--seeds", "0:2", "--events", 50, "--jobs", 2)
    assert "2 seeds, 0 broken" in seeds.stdout
    lake = tmp_path / "lake"
    ran("ingest", "--build", "--lake", lake, "--order", "live,final", LIVE, FINAL)
    ran("report", LIVE, FINAL, "--order", "live,final", "-o", tmp_path / "of-directories.html")
    ran("report", "--lake", lake, "-o", tmp_path / "of-a-lake.html")
    ran("lake", "--lake", lake)
    for engine in ("delta-rs", "duckdb"):
        ran("sql", "--lake", lake, "--engine", engine, "SELECT count(*) FROM gold.findings")
    ran("state", "--lake", lake)
    ran("history", "--lake", lake)
    for name in ("all.duckdb", "views.sql"):
        ran("export", "--lake", lake, "-o", tmp_path / name)
    ran("publish", "--lake", lake, "--to", tmp_path / "changes")
    ran("mcp", "--lake", lake)


def test_a_replica_takes_nothing_from_the_folder(ran: Ran, hostile: Path, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=C\n"
        "listeners=C://127.0.0.1:0\ncontroller.quorum.voters=1@127.0.0.1:19999\n"
        f"log.dirs={tmp_path}/log\n"
    )
    ran("replica", "format", "-c", file, "-t", "Lr3UIdBxT-GFPYE5uprmrg")
    command = [str(hostile.parent / "bin/kraftlake"), "replica", "run", "-c", str(file)]
    process = subprocess.Popen(
        command,
        cwd=hostile,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert first
    assert nothing_ran(hostile)


@pytest.mark.parametrize("options", [["-m"], pytest.param(["-P", "-m"], marks=pytest.mark.slow)])
def test_a_module_that_lies_in_the_folder_is_not_taken_by_the_command_as_a_module(
    hostile: Path, tmp_path: Path, options: list[str]
) -> None:
    """By -m Python itself imports our package from the current folder, if it has one of that name;
    all that comes behind it is not taken from there."""
    folder = hostile
    if "-P" not in options:
        folder = tmp_path / "without-ours"
        folder.mkdir()
        for file in hostile.glob("*.py"):
            (folder / file.name).write_text(file.read_text())
        for name in BEFORE_ANY_CODE:
            (folder / f"{name}.py").unlink(missing_ok=True)
    command = [sys.executable, *options, "jobs.cli"]
    ran_in(folder, command, "simulate", "--seeds", "0:2", "--events", 50, "--jobs", 2)
    ran_in(folder, command, "check", LIVE / "1")
    assert nothing_ran(hostile)


@pytest.mark.slow
def test_a_kernel_is_compiled_without_the_folder_s_modules_and_settings(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = compile_kernel(KERNEL)
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert compile_kernel(KERNEL) == elsewhere
    assert nothing_ran(hostile)


def test_a_zip_that_spark_put_into_a_worker_s_folder_stays_on_the_path(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", ["", ".", "./kraftlake-jobs.zip", "/usr/lib"])
    assert without_current_folder() == [str(hostile / "kraftlake-jobs.zip"), "/usr/lib"]


@pytest.mark.slow
@pytest.mark.parametrize("submitted", [False, True])
def test_sparks_workers_take_nothing_from_the_folder(
    ran: Ran, hostile: Path, tmp_path: Path, submitted: bool
) -> None:
    lake = tmp_path / "lake"
    ran("ingest", "--build", "--lake", lake, LIVE)
    capture = ran("sql", "--lake", lake, "--csv", "SELECT min(capture_id) FROM bronze.captures")
    chosen = ("--lake", lake, "--capture", capture.stdout.split()[1], "--yes")
    if submitted:
        submit = [str(SPARK / "bin/spark-submit"), "--master", "local[2]"]
        ran_in(hostile, submit, REPOSITORY / STARTED_BY_SPARK_SUBMIT, *chosen)
        return
    ran("forget", *chosen)
    ran("quality", "--lake", lake)
