"""Jobs on a real cluster of two workers make the tables of local mode, also where one dies."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines import build as building
from pipelines.bronze.log_ranges import log_ranges, log_record_batches
from pipelines.capture.spool import FOLDER as SPOOL
from pipelines.lake import Lake
from pipelines.lake.redaction import FILE_NAME as REDACTION_KEY
from pipelines.runners.local import LocalRunner
from pipelines.sources.files import SourceFile
from pipelines.tables.bronze import BRONZE, LOG_RECORDS
from pipelines.tables.gold import GOLD, QUALITY_RESULTS, QUARANTINED_ROWS
from pipelines.tables.silver import SILVER
from replica.format import meta_properties
from replica.metadata.redact import Redactor
from replica.scan import store
from replica.scan.compiled import KERNELS
from tests.bench.ingest import Log
from tests.cluster.lake_rows import read_table, rows_of
from tests.cluster.standalone import Cluster, Worker, environment, told
from tests.cluster.submission import (
    Submitted,
    make_package,
    make_workplace,
    script_shown_by,
    submitted,
)
from tests.interop.kafka_node import free_ports
from tests.pipelines.growing import grow_idle

pytestmark = [pytest.mark.spark, pytest.mark.slow]

INGEST = "test_an_ingest_on_a_cluster_makes_the_tables_of_local_mode"
BUILD = "test_a_build_that_loses_a_worker_makes_the_tables_of_local_mode"
HISTORY = "test_the_history_server_tells_what_ran_where"
KILLED = "test_a_task_killed_while_it_writes_a_data_file_doubles_no_row"
CAPTURES = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")
IN_THE_MIDDLE = "build: replay: "
LOG_BYTES = 40_000_000
"""So that a task writes its data file for a second, in which it can be found and killed."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workplace(tmp_path_factory.mktemp("cluster") / "work")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("daemons")
    with Cluster(folder, {"XDG_CACHE_HOME": str(_compiled(folder / "cache"))}) as running:
        yield running


def _compiled(cache: Path) -> Path:
    """A cache with what this machine has of the decoder's machine code: executors compile the rest,
    as at a first job."""
    images = {kernel.name: store.find(kernel.name) for kernel in KERNELS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_bases", lambda: iter((cache / "kraftlake",)))
        for name, image in images.items():
            if image is not None:
                store.keep(name, image)
    return cache


def _python_finds(interpreter: Path, module: str) -> bool:
    words = [str(interpreter), "-c", f"import {module}"]
    ended = subprocess.run(words, capture_output=True, cwd="/", env=environment(), check=False)
    return ended.returncode == 0


def test_an_ingest_on_a_cluster_makes_the_tables_of_local_mode(
    cluster: Cluster, workplace: Path, data: Path, recorded_lake: Path, tmp_path: Path
) -> None:
    cluster.whole()
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copy(recorded_lake / REDACTION_KEY, lake)  # or every fingerprint would be another
    make_package("environment", workplace / "dist")
    captures = " ".join(str(data / name) for name in CAPTURES)
    given = {"LAKE": str(lake), "CAPTURES": f"--order live,split,final {captures}"}
    with submitted(script_shown_by(INGEST), cluster, workplace, given) as job:
        job.until("tasks done on both workers", lambda: _both_did_tasks(job))
        (application,) = job.applications()
        folders = [folder for one in cluster.workers for folder in one.executors(application)]
        assert len(folders) == 2
        for folder in folders:  # nothing of ours but the zip is to be had there
            assert (folder / "kraftlake-jobs.zip").is_file()
            assert _python_finds(folder / "environment/bin/python", "pyarrow")
            assert not _python_finds(folder / "environment/bin/python", "replica")
        job.wait()
    assert rows_of(lake, BRONZE) == rows_of(recorded_lake, BRONZE)


def _both_did_tasks(job: Submitted) -> bool:
    return sum(one["completedTasks"] > 0 for one in job.executors()) == 2


@dataclass(frozen=True)
class Lossy:
    """A build in which a worker was killed. executor: the id of its executor."""

    lake: Path
    application: str
    executor: str


@pytest.fixture(scope="module")
def large_lake(recorded_lake: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bronze tables of the recorded clusters, one of which has had too many records since to be
    derived in one unit. Read only."""
    folder = tmp_path_factory.mktemp("large")
    shutil.copytree(recorded_lake, folder / "lake")
    shutil.copytree(data / CAPTURES[0] / "final/1", folder / "1")
    grow_idle(folder / "1", building._MOST_RECORDS)
    assert ingest(IngestOptions([str(folder / "1")], Lake(folder / "lake"))) == 0
    return folder / "lake"


@pytest.fixture(scope="module")
def built_here(large_lake: Path) -> Path:
    """The same with silver and gold tables, built by this process after all. Read only."""
    lake = large_lake.with_name("built")
    shutil.copytree(large_lake, lake)
    with pytest.MonkeyPatch.context() as patch, LocalRunner() as runner:
        patch.setattr(building, "_MOST_RECORDS", 2 * building._MOST_RECORDS)
        building.build(Lake(lake), runner, lambda _: None)
    return lake


@pytest.fixture(scope="module")
def lossy(
    cluster: Cluster,
    workplace: Path,
    large_lake: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Lossy:
    """The worker is frozen until the driver counts on a task of its executor, then killed."""
    cluster.whole()
    lake = tmp_path_factory.mktemp("lossy") / "lake"
    shutil.copytree(large_lake, lake)
    assert not _python_finds(workplace / ".venv/bin/python", "replica")
    given = {"LAKE": str(lake)}
    with submitted(script_shown_by(BUILD), cluster, workplace, given) as job:
        job.until("the replay", lambda: IN_THE_MIDDLE in job.said)
        (application,) = job.until("its name at the driver", job.applications)
        victim = cluster.workers[0]
        (folder,) = victim.executors(application)
        victim.freeze()
        job.until("task to be lost", lambda: _is_at_work(job, folder.name))
        victim.kill()
        job.wait()
    return Lossy(lake, application, folder.name)


def _is_at_work(job: Submitted, executor: str) -> bool:
    return any(one["id"] == executor and one["activeTasks"] for one in job.executors())


def test_a_build_that_loses_a_worker_makes_the_tables_of_local_mode(
    lossy: Lossy, built_here: Path
) -> None:
    tables = (*SILVER, *GOLD, QUALITY_RESULTS)
    assert rows_of(lossy.lake, tables) == rows_of(built_here, tables)
    for lake in (lossy.lake, built_here):  # a table that comes with the first row left out
        assert not (lake / QUARANTINED_ROWS.schema_name / QUARANTINED_ROWS.table_name).exists()


def test_the_history_server_tells_what_ran_where(
    lossy: Lossy, cluster: Cluster, workplace: Path
) -> None:
    (port,) = free_ports(1)
    script = script_shown_by(HISTORY)
    with submitted(script, cluster, workplace, {"PORT": str(port)}) as server:
        url = f"http://127.0.0.1:{port}/api/v1/applications/{lossy.application}"
        executors = server.until("history", lambda: told(f"{url}/allexecutors"))
        settings = dict(told(f"{url}/environment")["sparkProperties"])
    did = {one["id"]: one["completedTasks"] for one in executors if one["id"] != "driver"}
    assert len(did) == 2
    assert min(did.values()) > 0
    assert {one["id"] for one in executors if not one["isActive"]} >= {lossy.executor}
    assert settings["spark.sql.shuffle.partitions"] == "8", "by the settings in the zip"


def test_a_task_killed_while_it_writes_a_data_file_doubles_no_row(
    cluster: Cluster, workplace: Path, tmp_path: Path
) -> None:
    cluster.whole()
    node, lake = tmp_path / "node", tmp_path / "lake"
    Log(node).grow(LOG_BYTES)
    table = lake / "bronze" / "log_records"
    given = {"LAKE": str(lake), "CAPTURES": str(node)}
    with submitted(script_shown_by(KILLED), cluster, workplace, given) as job:
        job.until("log records", lambda: ": log records" in job.said)
        victim, file = job.until("data file", lambda: _frozen(cluster, table), every_s=0.01)
        victim.kill()
        job.wait()
    assert file.is_file(), "what the task had written lies there"
    assert file.name not in {Path(name).name for name in DeltaTable(str(table)).file_uris()}
    assert _records(lake).equals(_decoded(node, lake))
    assert not (lake / SPOOL).exists()


def _frozen(cluster: Cluster, table: Path) -> tuple[Worker, Path] | None:
    """A worker, one of whose tasks is writing a data file of the table, and that file."""
    for worker in cluster.workers:
        if _open_file(worker, table) is not None:
            worker.freeze()
            file = _open_file(worker, table)
            if file is not None:
                return worker, file
            worker.thaw()  # it had just been closed
    return None


def _open_file(worker: Worker, table: Path) -> Path | None:
    for process in worker.processes:
        with suppress(OSError):  # it has ended
            for handle in Path(f"/proc/{process}/fd").iterdir():
                path = Path(os.readlink(handle))
                if path.parent == table and path.suffix == ".parquet":
                    return path
    return None


COMPARED = ("offset", "base_offset", "leader_epoch", "crc", "record_type", "value")


def _records(lake: Path) -> pa.Table:
    """COMPARED of the table, in the order of offsets."""
    rows = read_table(lake, LOG_RECORDS).select(COMPARED)
    kinds = {"record_type": pa.string(), "value": pa.binary()}  # not as views
    schema = pa.schema([(f.name, kinds.get(f.name, f.type)) for f in rows.schema])
    return rows.cast(schema).sort_by("offset").combine_chunks()


def _decoded(node: Path, lake: Path) -> pa.Table:
    """The same of the node's log, read without Spark."""
    replica = meta_properties.decode((node / meta_properties.FILE_NAME).read_bytes()).replica
    assert replica is not None
    redactor = Redactor((lake / REDACTION_KEY).read_bytes())
    segments = sorted(node.glob("*/*.log"))
    parts = log_ranges([(SourceFile(str(one), one.name), replica) for one in segments])
    found = (batch for part in parts for batch in log_record_batches(part, redactor=redactor))
    batches = [batch.select(COMPARED) for batch in found]
    return pa.Table.from_batches(batches).sort_by("offset").combine_chunks()
