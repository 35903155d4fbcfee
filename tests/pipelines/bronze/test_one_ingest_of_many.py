"""One ingest of many captures makes the tables that an ingest of each makes, oldest first."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.bronze import ingest as passes
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.in_place import ChangedFileError
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.runners.local import LocalRunner
from pipelines.tables.bronze import CAPTURES
from tests.fuzz.ingest_kills import tables
from tests.kraftlake_process import REPOSITORY, command_line
from tests.pipelines.lake_rows import rows_of

CLUSTERS = {"kafka-3.7.2-static": "1", "kafka-4.1.1-dynamic": "2"}
NAMES = ("live", "split", "final")


def captured(recorded: Path, folder: Path, names: tuple[str, ...] = NAMES) -> list[str]:
    """Captures of two clusters, oldest first, those of one hour after the other."""
    paths = []
    for hour, name in enumerate(names):
        for minute, (cluster, node) in enumerate(CLUSTERS.items()):
            place = folder / f"{name}-{node}"
            shutil.copytree(recorded / cluster / name / node, place / node)
            at = f"2026-11-21T0{hour}:1{minute}:00.000Z"
            (place / "capture.json").write_text(json.dumps({"version": 1, "captured_at": at}))
            paths.append(str(place))
    return paths


def lakes(folder: Path) -> tuple[Path, Path]:
    """Two lakes to be, whose redaction keys are equal."""
    both = folder / "at_once", folder / "one_by_one"
    for lake in both:
        lake.mkdir()
        (lake / "_redaction.key").write_bytes(b"k" * 32)
    return both


def ingested(paths: list[str], lake: Path) -> dict[str, list[str]]:
    """The tables after an ingest of each path."""
    for path in paths:
        assert ingest.run(IngestOptions([path], Lake(lake))) == 0
    return tables(lake)


@pytest.mark.slow  # 10 s; .ci/run runs it behind `make test`
def test_one_ingest_of_all_captures_is_an_ingest_of_each_oldest_first(
    data: Path, tmp_path: Path
) -> None:
    paths = captured(data, tmp_path / "captures")
    at_once, one_by_one = lakes(tmp_path)
    newest_first = paths[::-1]
    assert ingest.run(IngestOptions(newest_first, Lake(at_once))) == 0
    found, wanted = tables(at_once), ingested(paths, one_by_one)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in wanted.items()
    }
    assert found == wanted
    assert len(wanted["captures"]) == len(paths)


@pytest.mark.slow  # 15 s; .ci/run runs it behind `make test`
@pytest.mark.parametrize("step", ["log records", "log batches", "captures"])
def test_an_ingest_that_was_killed_in_a_pass_goes_on_to_the_same_rows(
    step: str, data: Path, tmp_path: Path
) -> None:
    paths = captured(data, tmp_path / "captures", NAMES[:2])
    at_once, one_by_one = lakes(tmp_path)
    asked = command_line("ingest", "--lake", at_once, *paths)
    running = subprocess.Popen(asked, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert running.stderr is not None
    for line in running.stderr:
        if line == f"ingest: rounds 3 to 4 of 4: 2 replicas: {step}\n":
            running.kill()
    assert running.wait() == -signal.SIGKILL
    running.stderr.close()
    assert ingest.run(IngestOptions(paths, Lake(at_once))) == 0
    assert tables(at_once) == ingested(paths, one_by_one)


def test_captures_of_different_clusters_go_side_by_side(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage runs once for both clusters, and bronze.captures gets both in one commit."""
    paths = captured(data, tmp_path / "captures", ("split",))
    at_once, one_by_one = lakes(tmp_path)
    runner = LocalRunner()
    with monkeypatch.context() as patched:
        patched.setattr(ingest, "runner_of", lambda *_: nullcontext(runner))
        assert ingest.run(IngestOptions(paths, Lake(at_once))) == 0
    stages = Counter(run.name for run in runner.ran)
    assert stages["decode"] == stages["fold"] == stages["judge directories"] == 1
    assert set(stages.values()) == {1}
    assert tables(at_once) == ingested(paths, one_by_one)


def test_a_file_that_was_changed_leaves_out_its_own_round_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round behind it in the pass gets the number that it has without the changed one."""
    paths = captured(data, tmp_path / "captures", ("split",))
    changed = Path(paths[0], "1", "__cluster_metadata-0", f"{0:020d}.log")
    write_findings = passes._Pass._findings

    def after_a_write(one: passes._Pass) -> None:
        if changed.exists():
            changed.unlink()
            raise ChangedFileError(str(changed), "changed meanwhile")
        write_findings(one)

    monkeypatch.setattr(passes._Pass, "_findings", after_a_write)
    lake = tmp_path / "lake"
    assert ingest.run(IngestOptions(paths, Lake(lake), shared=True)) == 1
    (row,) = rows_of(lake, CAPTURES)
    assert (row.ingest_seq, row.source) == (1, f"{paths[1]}/2/__cluster_metadata-0")


def test_a_pass_has_neighbouring_rounds_of_different_clusters(data: Path, tmp_path: Path) -> None:
    paths = captured(data, tmp_path / "captures")
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        captures = capture_paths(paths, CaptureOptions(), spool)
        late = capture_paths([paths[0], *paths[2:5:2], paths[5]], CaptureOptions(), spool)
    assert [len(rounds) for rounds in captures.passes()] == [2, 2, 2]
    assert [one for rounds in captures.passes() for one in rounds] == [*captures.rounds]
    assert [len(rounds) for rounds in late.passes()] == [1, 1, 2]
