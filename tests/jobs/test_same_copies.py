"""A copy of a directory with the same bytes is no second capture of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

STATIC = "kafka-3.7.2-static/final"
COMMANDS = (
    ("check",), ("what-happened",), ("timeline",), ("recover", "--plan"),
    ("plan", "--stop-broker", "11"), ("state", "--entity", "topic"),
)  # fmt: skip


@pytest.fixture
def copied(data: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Nodes 1 and 2, and another copy of node 1."""
    for node in ("1", "2"):
        shutil.copytree(data / STATIC / node, tmp_path / "nodes" / node)
    shutil.copytree(data / STATIC / "1", tmp_path / "copy-of-1")
    return tmp_path / "nodes", tmp_path / "copy-of-1"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_copy_with_the_same_bytes_is_left_out_with_a_word(
    kraftlake: Kraftlake, copied: tuple[Path, Path], command: tuple[str, ...]
) -> None:
    nodes, copy = copied
    alone = kraftlake(*command, nodes)
    both = kraftlake(*command, nodes, copy)
    assert (both.code, both.out) == (alone.code, alone.out)
    log = "__cluster_metadata-0"
    told = f"{copy / log}: left out: a copy of {nodes / '1' / log}, byte for byte"
    assert both.complaints.count(told) == 1


@pytest.mark.parametrize("change", ["a byte", "a file more", "a file less", "other properties"])
def test_a_directory_that_differs_in_anything_needs_an_order(
    kraftlake: Kraftlake, copied: tuple[Path, Path], change: str
) -> None:
    nodes, copy = copied
    log = copy / "__cluster_metadata-0"
    if change == "a byte":
        state = log / "quorum-state"
        state.write_bytes(state.read_bytes().replace(b"1", b"2", 1))
    elif change == "a file more":
        (log / "00000000000000000000.index.deleted").write_bytes(b"")
    elif change == "a file less":
        (log / "leader-epoch-checkpoint").unlink()
    else:
        with (copy / "meta.properties").open("a") as file:
            file.write("#\n")
    assert "are captures of the same replica (node 1)" in kraftlake("check", nodes, copy).error
