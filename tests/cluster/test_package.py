"""`make package`: the zip that a cluster gets has all of the code, and is always the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("jobs", "kraftlake", "pipelines", "replica")
MODULES = (
    "pyspark_kraft_captures.py",
    "pyspark_kraft_log.py",
    "pyspark_kraft_replica.py",
    "pyspark_kraft_snapshot.py",
)
DATA_FILES = (
    "conf/kraftlake.toml",
    "conf/log4j2.properties",
    "conf/spark-defaults.conf",
    "conf/spark-local.conf",
    "jobs/cli/schemas/check.schema.json",
    "kraftlake/py.typed",
    "pipelines/report/static/report.css",
    "pipelines/report/static/report.js",
)
ENDINGS = (
    ".py",
    ".typed",
    ".html",
    ".css",
    ".js",
    ".toml",
    ".conf",
    ".json",
    ".properties",
    ".tar.xz",
)


def made(root: Path, target: Path) -> Path:
    subprocess.run(
        [sys.executable, str(root / "packaging" / "jobs_zip.py"), str(target)],
        check=True,
        capture_output=True,
    )
    return target


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(ROOT, tmp_path_factory.mktemp("package") / "kraftlake-jobs.zip")


def run(archive: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with the zip, and nothing else of ours, on its path."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=archive.parent,
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=False,
    )


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield path.relative_to(ROOT).as_posix()
    yield from MODULES


def test_the_zip_holds_every_module_and_data_file_and_nothing_else(archive: Path) -> None:
    names = zipfile.ZipFile(archive).namelist()
    assert names == sorted(set(names))
    assert {name for name in names if name.endswith(".py")} == set(_modules())
    assert set(DATA_FILES) <= set(names)
    assert {name.split("/")[0] for name in names} == {*PACKAGES, *MODULES, "conf"}
    assert [name for name in names if not name.endswith(ENDINGS)] == []


def test_the_same_files_make_the_same_bytes_wherever_and_whenever(
    archive: Path, tmp_path: Path
) -> None:
    for name in (*PACKAGES, "packaging", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name, copy_function=shutil.copyfile)
    for name in MODULES:
        shutil.copyfile(ROOT / name, tmp_path / name)
    again = made(tmp_path, tmp_path / "again.zip")
    assert _sha256(again) == _sha256(archive)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_settings_are_found_in_the_zip(archive: Path) -> None:
    code = (
        "from pipelines.conf_files import conf_directory, read_defaults, read_properties\n"
        "folder = conf_directory()\n"
        "print(folder, read_defaults(folder).cores_max)\n"
        "print(read_properties(folder / 'spark-defaults.conf')['spark.sql.shuffle.partitions'])\n"
    )
    ended = run(archive, "-c", code)
    assert ended.stdout.splitlines() == [f"{archive}/conf/ 8", "8"], ended.stderr


def test_the_report_s_templates_are_found_in_the_zip(archive: Path) -> None:
    code = (
        "from datetime import UTC, datetime\n"
        "from pipelines.report.page import Report, render\n"
        "from pipelines.report.source import Figure\n"
        "from pipelines.lake import Lake\n"
        "at = datetime(2026, 1, 1, tzinfo=UTC)\n"
        "print(render(Report(Lake('a-lake'), '1', at, (), 0, Figure('SELECT 1', ()))))\n"
    )
    ended = run(archive, "-c", code)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("<!doctype html>")
    assert "a-lake" in ended.stdout


def test_the_command_runs_from_the_zip(archive: Path, data: Path) -> None:
    node = data / "kafka-3.7.2-static" / "split" / "2"
    ended = run(archive, "-m", "jobs.cli", "dump", "--json", "--type", "LEADER_CHANGE", str(node))
    assert ended.returncode == 0, ended.stderr
    assert '"type":"LEADER_CHANGE"' in ended.stdout


@pytest.mark.slow
def test_make_package_makes_both_archives(archive: Path, tmp_path: Path) -> None:
    words = ["make", "-o", "setup", "package", f"VENV={sys.prefix}", f"DIST={tmp_path / 'dist'}"]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    assert _sha256(tmp_path / "dist" / "kraftlake-jobs.zip") == _sha256(archive)
    packed = tmp_path / "dist" / "kraftlake-environment.tar.gz"
    with tarfile.open(packed) as environment:
        names = set(environment.getnames())
    place = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    assert {"pyvenv.cfg", "bin/python"} <= names
    assert f"{place}/pyarrow/__init__.py" in names
    assert f"{place}/great_expectations/__init__.py" in names, "as the driver needs it, too"
    ours_and_the_cluster_s = (*PACKAGES, "pyspark", "pytest")
    assert not [name for name in ours_and_the_cluster_s if f"{place}/{name}/__init__.py" in names]
