"""Names in a Hive metastore, read by others' processes, as docs/how-to/catalogs.md says it.

Everything is real: spark-sql, the Spark Thrift server and beeline of pyspark, Derby, and a Hive
metastore service.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable

from jobs.cli.asking.sql_views import VIEWS
from pipelines.catalog.metastore import metastore_settings, properties_text
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from pipelines.tables.gold import DIVERGENCE_POINTS
from tests.interop.kafka_node import free_ports
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY
from tests.listening import LOOPBACK, listeners
from tests.markdown import cells_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = REPOSITORY / "docs" / "how-to" / "catalogs.md"
NOTEBOOK = REPOSITORY / "docs" / "how-to" / "notebooks" / "incident.ipynb"
PAGE_PORT, SERVICE_PORT = "10000", "9083"
WITHIN_S, START_S = 600, 300

BY_PATH, REGISTER, BY_NAME, SERVE, BEELINE, SERVICE, DROP = range(7)
"""The page's blocks of commands, all there are."""
NAMES_OF_VIEWS = {view.name for view in VIEWS}
EPOCHS = ("epoch", "leader_id", "start_offset")


@dataclass(frozen=True)
class Shell:
    """Runs the page's commands in a folder that has a lake."""

    folder: Path

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def environment(self) -> dict[str, str]:
        path = (self.folder / "bin", Path(sys.executable).parent, os.environ["PATH"])
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        return {
            **kept,
            "PATH": ":".join(map(str, path)),
            "PYTHONPATH": str(REPOSITORY),
            "PYSPARK_PYTHON": sys.executable,
        }

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )

    def said(self, command: str) -> str:
        ended = self.run(command)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    @contextmanager
    def serving(self, command: str, port: int) -> Iterator[int]:
        """The process of the Thrift server, which answers; ended by its id."""
        log = self.folder / "server.log"
        with log.open("wb") as out:
            server = subprocess.Popen(
                ["bash", "-ec", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            _until_open(port, server, log)
            yield server.pid
        finally:
            server.terminate()
            try:
                server.wait(60)
            finally:
                server.kill()
                server.wait()


def _until_open(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        assert server.poll() is None, log.read_text(errors="replace")[-5000:]
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-5000:]
        try:
            create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return


@pytest.fixture(scope="module")
def blocks() -> list[str]:
    """The page's commands; as many blocks as this module runs."""
    found = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(found) == DROP + 1
    return found


@pytest.fixture(scope="module")
def shell(built_lake: Path, tmp_path_factory: pytest.TempPathFactory, blocks: list[str]) -> Shell:
    """With a lake whose tables are registered in the folder `catalog`. Not to be changed."""
    return _registered(tmp_path_factory.mktemp("by name"), built_lake, blocks)


def _registered(folder: Path, lake: Path, blocks: list[str]) -> Shell:
    shutil.copytree(lake, folder / "lake")
    command = folder / "bin" / "kraftlake"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jobs.cli "$@"\n')
    command.chmod(0o755)
    shell = Shell(folder)
    before = _files(shell.lake)
    shell.said(blocks[REGISTER])
    assert _files(shell.lake) == before
    assert sorted(path.name for path in folder.iterdir()) == ["bin", "catalog", "lake"]
    made = sorted(path.name for path in (folder / "catalog").iterdir())
    assert made == ["derby.log", "metastore_db", "spark.conf", "warehouse"]
    return shell


def _files(lake: Path) -> set[tuple[Path, int]]:
    """Each with its time of modification in ns."""
    return {(path, path.stat().st_mtime_ns) for path in lake.rglob("*") if path.is_file()}


def _epochs(lake: Path) -> list[tuple[str, ...]]:
    """As deltalake reads them."""
    table = DeltaTable(lake / "gold/leader_epoch_history").to_pyarrow_table()
    rows = table.sort_by([("cluster_id", "ascending"), ("epoch", "ascending")]).to_pylist()
    return [tuple(str(row[name]) for name in EPOCHS) for row in rows]


def _beeline_rows(printed: str) -> list[tuple[str, ...]]:
    """The cells of its table, without the header, which comes again after each hundred rows."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    rows = [*map(cells_of, lines)]
    return [row for row in rows if row != rows[0]]


def test_a_fresh_spark_sql_reads_tables_by_name_and_by_path(
    shell: Shell, blocks: list[str]
) -> None:
    expected = _epochs(shell.lake)
    lines = shell.said(blocks[BY_NAME]).splitlines()
    assert [tuple(line.split("\t")) for line in lines[: len(expected)]] == expected
    described = [[cell.strip() for cell in line.split("\t")] for line in lines[len(expected) :]]
    for column in DIVERGENCE_POINTS.columns:
        assert [column.name, column.description] in [[row[0], row[-1]] for row in described]
    by_path = [tuple(line.split("\t")) for line in shell.said(blocks[BY_PATH]).splitlines()]
    assert by_path == [row[:2] for row in expected]


def test_the_notebook_gives_the_outputs_that_are_stored_in_it(shell: Shell) -> None:
    printed = shell.said(f"python -m tests.docs.notebook {shlex.quote(str(NOTEBOOK))}")
    if os.environ.get("REWRITE_EXAMPLES"):
        NOTEBOOK.write_text(printed, encoding="utf-8")
        pytest.skip("written anew")
    assert printed == NOTEBOOK.read_text(encoding="utf-8")


def test_beeline_reads_by_the_thrift_server_also_what_a_later_build_wrote(
    built_lake: Path, blocks: list[str], kraftlake: Kraftlake, tmp_path: Path
) -> None:
    shell = _registered(tmp_path, built_lake, blocks)
    (port,) = free_ports(1)
    beeline = blocks[BEELINE].replace(PAGE_PORT, str(port))
    view = "SELECT topic, partitions FROM gold.topics_at ORDER BY cluster_id, topic"
    with shell.serving(blocks[SERVE].replace(PAGE_PORT, str(port)), port) as server:
        listens = listeners(server)
        assert port in [one for _, one in listens]
        assert {address for address, _ in listens} <= LOOPBACK
        before = _epochs(shell.lake)
        assert _beeline_rows(shell.said(beeline)) == before
        topics = kraftlake("sql", "--lake", shell.lake, "--json", view).rows
        assert len(topics) > 100
        of_view = re.sub(r"SELECT epoch.*", f'{view}"', beeline)
        assert _beeline_rows(shell.said(of_view)) == [
            (row["topic"], str(row["partitions"])) for row in topics
        ]

        locked = shell.run(blocks[REGISTER])
        assert locked.returncode == 1
        assert len(locked.stderr.splitlines()) == 2, locked.stderr
        assert "catalog/metastore_db is open in another process" in locked.stderr

        cluster = kraftlake("lake", "--lake", shell.lake, "--json").rows[0]["cluster_id"]
        assert kraftlake("forget", "--lake", shell.lake, "--cluster", cluster, "--yes").code == 0
        assert kraftlake("build", "--lake", shell.lake).code == 0
        after = _epochs(shell.lake)
        assert 0 < len(after) < len(before)
        assert _beeline_rows(shell.said(beeline)) == after


def test_registering_again_keeps_the_names_and_another_lake_can_t_have_them(
    shell: Shell, blocks: list[str], tmp_path: Path
) -> None:
    again = shell.said(f"{blocks[REGISTER].strip()} --json")
    assert {json.loads(line)["action"] for line in again.splitlines()} == {"kept"}
    shutil.copytree(shell.lake, tmp_path / "lake")
    taken = shell.run(f"kraftlake register --lake '{tmp_path}/lake' --catalog catalog")
    assert taken.returncode == 2
    assert f"bronze.captures is a table file:{shell.folder}" in unquote(taken.stderr)
    assert "nothing was changed" in taken.stderr


def test_a_metastore_service_keeps_the_names_beside_those_of_others(
    shell: Shell, blocks: list[str], tmp_path: Path
) -> None:
    service = subprocess.Popen(
        [sys.executable, "-m", "tests.pipelines.catalog.hive_metastore", str(tmp_path)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stdout is not None
        port = service.stdout.readline().strip()
        command = blocks[SERVICE].replace(SERVICE_PORT, port)
        printed = shell.said(command)
        for name in (*tables_of(Lake(shell.lake)), *NAMES_OF_VIEWS):
            assert f" kraft_{name} " in printed
        query = "SELECT epoch, leader_id, start_offset FROM kraft_gold.leader_epoch_history"
        ordered = f"{query} ORDER BY cluster_id, epoch"
        rows = shell.said(f'spark-sql --properties-file spark.conf -e "{ordered}"').splitlines()
        assert [tuple(row.split("\t")) for row in rows] == _epochs(shell.lake)
    finally:
        service.kill()
        service.wait()
    gone = shell.run(command)
    assert gone.returncode == 1
    assert "no Hive metastore answers" in gone.stderr.splitlines()[-1]


def test_a_query_of_ours_leaves_the_metastore_of_the_user_s_own_settings_alone(
    process: Kraftlake, built_lake: Path, tmp_path: Path
) -> None:
    metastore = tmp_path / "metastore"
    lines = properties_text(metastore_settings(str(metastore)))
    (tmp_path / "spark-defaults.conf").write_text(lines)
    query = "SELECT count(*) AS n FROM gold.leader_epoch_history"
    asked = ("sql", "--lake", built_lake, "--engine", "spark", "--json", query)
    assert process(*asked, SPARK_CONF_DIR=str(tmp_path)).rows == [{"n": len(_epochs(built_lake))}]
    assert not metastore.exists()


def test_names_are_taken_away_and_the_data_stays(shell: Shell, blocks: list[str]) -> None:
    dropped = [
        json.loads(line) for line in shell.said(f"{blocks[DROP].strip()} --json").splitlines()
    ]
    assert {row["action"] for row in dropped} == {"dropped"}
    assert {row["name"] for row in dropped} == {*tables_of(Lake(shell.lake)), *NAMES_OF_VIEWS}
    assert _epochs(shell.lake)
    assert shell.said(blocks[DROP]) == "the catalog has no names of this lake\n"
