"""Lakes that can't be ingested into, and disks that are full: one line, and nothing is lost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipelines.lake import Lake
from pipelines.lake.lock import locked
from pipelines.lake.schema_version import VERSION
from replica.errors import UnwritableFileError
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line
from tests.pipelines.growing import large_node

NODE = "kafka-3.7.2-static/final/1"


def test_a_lake_without_a_schema_version_is_refused(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "bronze/captures/_delta_log").mkdir(parents=True)
    for command in (["ingest", data / NODE], ["build"]):
        ended = kraftlake(*command, "--lake", tmp_path)
        assert ended.code == 2
        assert ended.error.startswith(f"{tmp_path}: its tables are of schema version 0, this ")


def test_a_path_that_does_not_exist_leaves_no_lake(kraftlake: Kraftlake, tmp_path: Path) -> None:
    ended = kraftlake("ingest", tmp_path / "nodes", "--lake", tmp_path / "lake")
    assert (ended.code, ended.error) == (2, f"{tmp_path}/nodes: no such file or directory")
    assert not (tmp_path / "lake").exists()


def test_a_table_of_captures_that_is_half_deleted_is_named(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    log = tmp_path / "bronze/captures/_delta_log"
    log.mkdir(parents=True)
    (tmp_path / "_schema_version").write_text(f"{VERSION}\n")
    ended = kraftlake("ingest", data / NODE, "--lake", tmp_path)
    assert ended.code == 2
    assert ended.error.startswith(f"{log.parent} can't be read (")
    assert ended.error.endswith("restore it, or use a new lake")


def test_a_full_disk_is_one_line_and_leaves_no_spool(data: Path, tmp_path: Path) -> None:
    node = large_node(data, tmp_path / "1", 2_000_000)
    lake = tmp_path / "lake"
    done = subprocess.run(
        command_line("ingest", "--lake", lake, node),
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # no files cut off
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)),
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kraftlake: error: {lake}/_spool/")
    assert line.endswith("File too large; make room on that disk and ingest again")
    assert not (lake / "_spool").exists()


def test_a_second_ingest_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    steps: list[str] = []
    is_held, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with locked(Lake(lake), lambda: steps.append("first waits")):
            is_held.set()
            may_end.wait(10)
            steps.append("first ends")

    def waiting() -> None:
        steps.append("second waits")
        may_end.set()

    thread = threading.Thread(target=first)
    thread.start()
    is_held.wait(10)
    with locked(Lake(lake), waiting):
        steps.append("second works")
    thread.join()
    assert steps == ["second waits", "first ends", "second works"]


def test_the_lock_of_a_killed_ingest_is_free(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pipelines.lake import Lake\n"
        "from pipelines.lake.lock import locked\n"
        "with locked(Lake(sys.argv[1]), lambda: None):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=REPOSITORY, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.kill()
    process.wait()
    process.stdout.close()
    waited: list[float] = []
    with locked(Lake(tmp_path), lambda: waited.append(time.time())):
        assert waited == []


def test_a_lake_that_cant_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(UnwritableFileError, match="lake"), locked(Lake(tmp_path / "lake"), list):
        pass
