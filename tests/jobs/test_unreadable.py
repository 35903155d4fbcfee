"""Directories that the user may not read: each command says so of the very folder, and goes on with
the rest as `check` does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replica.doctor.check.catalogue import files
from tests.rights import kraftlake, needs_linux, skip_unless_bound

pytestmark = needs_linux
METADATA = "__cluster_metadata-0"
DENIED = "Permission denied"


@pytest.fixture(scope="module", autouse=True)
def _bound(tmp_path_factory: pytest.TempPathFactory) -> None:
    probe = tmp_path_factory.mktemp("bound") / "probe"
    probe.mkdir(mode=0)
    skip_unless_bound(probe)


@pytest.fixture
def nodes(data: Path, tmp_path: Path) -> Iterator[Path]:
    """Three voters' directories, whose modes are put right again in the end."""
    folder = tmp_path / "nodes"
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, folder / node)
    yield folder
    for path in (folder / "2", folder / "2" / METADATA):
        path.chmod(0o755)


Lock = Callable[[Path], Path]
"""Takes rights of node 2's directory away; the folder that can't be read then."""


def _node(nodes: Path) -> Path:
    (nodes / "2").chmod(0)
    return nodes / "2"


def _metadata(nodes: Path) -> Path:
    (nodes / "2" / METADATA).chmod(0)
    return nodes / "2" / METADATA


def _unsearchable(nodes: Path) -> Path:
    """Names can be listed, but nothing behind them opened."""
    (nodes / "2").chmod(0o444)
    return nodes / "2" / METADATA


LOCKS = (_node, _metadata, _unsearchable)


@pytest.mark.parametrize("lock", LOCKS)
def test_there_is_no_plan_before_the_directory_is_read_that_may_not_be(
    nodes: Path, lock: Lock
) -> None:
    locked = lock(nodes)
    ended = kraftlake("recover", "--plan", nodes)
    assert ended.stderr == f"{locked}: unreadable: {DENIED}. {files.UNREADABLE.next_step}\n"
    assert ended.returncode == 1
    assert f"  1. {locked} could not be read: run as Kafka's user" in ended.stdout
    assert "format --cluster-id" not in ended.stdout
    checked = kraftlake("check", "--severity", "warning", nodes)
    assert (checked.returncode, checked.stderr) == (1, "")
    assert f"         {locked}: {DENIED}" in checked.stdout.splitlines()
    assert checked.stdout.endswith(
        "2 directories or files checked: 1 error, 2 warnings, 2 notes (not shown: notes)\n"
    )


@pytest.mark.parametrize("lock", LOCKS)
def test_a_plan_without_a_readable_directory_names_the_unreadable_ones(
    nodes: Path, lock: Lock
) -> None:
    locked = lock(nodes)
    ended = kraftlake("recover", "--plan", nodes / "2")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (f"kraftlake: error: {locked}: {DENIED}. {files.UNREADABLE.next_step}\n")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_plan_names_an_unreadable_file_where_each_node_was_captured_apart(
    nodes: Path, lock: Lock
) -> None:
    for node in ("1", "2", "3"):
        text = f'{{"version": 1, "captured_at": "2026-11-21T05:0{node}:00Z"}}'
        (nodes / node / "capture.json").write_text(text)
    locked = lock(nodes)
    ended = kraftlake("recover", "--plan", nodes / "1", nodes / "2", nodes / "3")
    assert f"{locked}: unreadable: {DENIED}. " in ended.stderr
    assert ended.returncode == 1, ended.stderr


@pytest.mark.parametrize(
    "command", ["check", "recover --plan", "dump", "diff tests/data/kafka-4.1.1-dynamic/final/2"]
)
def test_a_path_behind_a_folder_that_may_not_be_searched_is_not_called_absent(
    nodes: Path, command: str
) -> None:
    _unsearchable(nodes)
    ended = kraftlake(*command.split(), nodes / "2" / METADATA)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert f"{nodes / '2' / METADATA}: " in said
    assert DENIED in said
    assert "no such file" not in said


def test_a_replica_without_a_readable_meta_properties_is_left_out_for_that(nodes: Path) -> None:
    path = nodes / "2/meta.properties"
    path.chmod(0)
    ended = kraftlake("recover", "--plan", nodes)
    assert f"{nodes / '2' / METADATA}: left out: {path}: {DENIED}" in ended.stderr.splitlines()


@pytest.mark.parametrize("lock", LOCKS)
def test_dump_prints_the_rest_and_names_it(nodes: Path, lock: Lock) -> None:
    locked = lock(nodes)
    ended = kraftlake("dump", "--json", "--type", "leader_change", nodes)
    assert ended.returncode == 1
    assert ended.stderr == f"{locked}: byte 0: unreadable: {DENIED}\n"
    shown = {json.loads(line)["file"] for line in ended.stdout.splitlines()}
    assert {Path(name).relative_to(nodes).parts[0] for name in shown} == {"1", "3"}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_capture_that_lacks_an_unreadable_file_is_not_finished(
    nodes: Path, tmp_path: Path, lock: Lock
) -> None:
    locked = lock(nodes)
    ended = kraftlake("capture", nodes, "-o", tmp_path / "taken")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1] == f"kraftlake: error: {locked}: {DENIED}"
    assert not (tmp_path / "taken/capture.json").exists()


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize(
    "command",
    [
        "check", "what-happened", "recover --plan", "rehearse", "plan --roll", "state",
        "state --exposure", "timeline", "history", "restore --release 4.1 --dry-run",
    ],
)  # fmt: skip
def test_every_command_ends_alike_where_nothing_that_was_named_can_be_read(
    nodes: Path, lock: Lock, command: str
) -> None:
    locked = lock(nodes)
    ended = kraftlake(*command.split(), nodes / "2")
    assert ended.returncode == 1, command
    assert f"{locked}: " in ended.stdout + ended.stderr
    assert DENIED in ended.stdout + ended.stderr
    assert "no leader was ever elected" not in ended.stderr
    if command in ("check", "what-happened"):
        assert ended.stdout.startswith("ATTENTION ")
