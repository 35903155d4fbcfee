"""A log directory of a broker with several disks has no metadata log by design: it is told what it
is and which directory to name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

NODES = "kafka-4.1.1-dynamic/final"
WHICH = "metadata.log.dir, else the first of log.dirs"


def second_disk(data: Path, folder: Path, node: str = "11", *, is_named: bool = True) -> Path:
    """A log directory of a node with two partitions. is_named: whether it has meta.properties."""
    for name in ("orders-0", "audit-log-12"):
        (folder / name).mkdir(parents=True)
        text = "version: 0\ntopic_id: vGcHBe8vTwG0Wd8SHK1mGQ\n"
        (folder / name / "partition.metadata").write_text(text)
        (folder / name / f"{0:020d}.log").touch()
    if is_named:
        own = (data / NODES / node / "meta.properties").read_text().splitlines()
        lines = [one for one in own if not one.startswith("directory.id")]
        lines.append("directory.id=AAAAAAAAAAAAAAAAAAAAFQ")
        (folder / "meta.properties").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_partitions_alone_are_not_a_node_that_never_started(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, command: str
) -> None:
    out = kraftlake(command, second_disk(data, tmp_path / "disk2")).lines
    (told,) = (one for one in out[:3] if one.startswith("not judged"))
    assert "holds partitions of a broker with several log directories" in told
    assert told.endswith(f"Name the directory that has __cluster_metadata-0: {WHICH}.")
    assert not any("never started" in line for line in out)


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("call", [("state", "--exposure"), ("plan", "--roll"), ("timeline",)])
def test_other_commands_name_the_directory_that_they_need(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, call: tuple[str, ...], is_named: bool
) -> None:
    found = kraftlake(*call, second_disk(data, tmp_path / "disk2", is_named=is_named))
    assert found.code == 2
    assert (
        "partitions, and no metadata log: a broker keeps __cluster_metadata-0 in only" in found.err
    )
    assert WHICH in found.err


def test_a_voter_whose_second_disk_is_given_has_not_lost_its_log(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("1", "2"):
        shutil.copytree(data / NODES / node, tmp_path / "nodes" / node)
    second_disk(data, tmp_path / "nodes/3-disk2", "3")
    out = kraftlake("check", "-v", tmp_path / "nodes").out
    assert "voter-disk-empty" not in out
    assert "metadata-log-not-given" in out
    assert "its directory was not given" in out
