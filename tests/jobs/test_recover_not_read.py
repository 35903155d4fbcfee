"""`kraftlake recover --plan` makes no plan where the operating system refused to read a file: what
a wrong user can't read isn't lost. What a broken disk can't give is."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.jobs.test_recover_words import METADATA
from tests.kraftlake_process import kraftlake
from tests.lying_disks.lies import Lies
from tests.rights import kraftlake as bound_by_modes
from tests.rights import needs_linux, skip_unless_bound

pytestmark = needs_linux
RECORDED = "kafka-4.1.1-dynamic/final"
LOG = f"{METADATA}/{0:020}.log"
FILES = [LOG, f"{METADATA}/quorum-state", "meta.properties", METADATA]


def _left(data: Path, tmp_path: Path, *nodes: str, closed: str) -> Path:
    """The directories of these nodes; nobody but root may read `closed`, a path below them."""
    for node in nodes:
        shutil.copytree(data / RECORDED / node, tmp_path / "left" / node)
    (tmp_path / "left" / closed).chmod(0)
    os.mkdir(tmp_path / "closed", 0)
    skip_unless_bound(tmp_path / "closed")
    return tmp_path / "left"


@pytest.mark.parametrize(
    ("file", "nodes"), [*((file, "123") for file in FILES), (LOG, "12"), (LOG, "2")]
)
def test_a_node_of_which_a_file_may_not_be_read_is_neither_stopped_nor_formatted(
    data: Path, tmp_path: Path, file: str, nodes: str
) -> None:
    left = _left(data, tmp_path, *nodes, closed=f"2/{file}")
    ended = bound_by_modes("recover", "--plan", *sorted(left.iterdir()))
    assert ended.returncode == 1, ended.stderr
    (step,) = (line for line in ended.stdout.splitlines() if line.startswith("  1. "))
    assert step.startswith(f"  1. {left / '2' / file} could not be read: run as Kafka's user")
    assert "make the plan again" in step
    for said in ("is lost", "would be lost", "kafka-", "  2. ", "log end", "not given"):
        assert said not in ended.stdout.split("cluster ", 1)[1], said


def test_json_says_that_the_plan_is_refused_and_that_nobody_may_win(
    data: Path, tmp_path: Path
) -> None:
    left = _left(data, tmp_path, "1", "2", "3", closed=f"2/{METADATA}/quorum-state")
    ended = bound_by_modes("recover", "--plan", "--rehearse", "--seeds", "0:1", "--json", left)
    assert ended.returncode == 1, ended.stderr
    rows = [row for row in map(json.loads, ended.stdout.splitlines()) if row["kind"] == "replica"]
    assert [row["answer"] for row in rows] == ["refused"] * 3
    assert not any(row["may_win"] or row["has_majority"] for row in rows)
    assert all("could not be read" in row["reasons"][0] for row in rows)
    assert all(row["rehearsed"]["runs"] == 0 for row in rows)


@pytest.mark.parametrize(
    ("file", "doubt"),
    [(LOG, "unreadable"), (f"{METADATA}/quorum-state", "unreadable-quorum-state")],
)
def test_a_voter_whose_disk_is_broken_counts_as_lost_in_a_plan(
    data: Path, tmp_path: Path, file: str, doubt: str
) -> None:
    shutil.copytree(data / RECORDED, tmp_path / "left")
    lies = Lies(tmp_path)
    lies.tell([("preadv", rf"/left/2/{file}$", errno.EIO)])
    words = "recover", "--plan", "--json", tmp_path / "left"
    ended = kraftlake(*words, variables=lies.variables)
    assert ended.returncode == 0, ended.stderr
    rows = [row for row in map(json.loads, ended.stdout.splitlines()) if row["kind"] == "replica"]
    assert [row["answer"] for row in rows] == ["safe"] * len(rows)
    found = {row["node_id"]: (row["doubt"], row["may_win"]) for row in rows}
    assert found[2] == (doubt, False)
    assert any(may_win for _, may_win in found.values())
    lies.tell([("preadv", rf"/left/2/{file}$", errno.EACCES)])
    denied = kraftlake(*words, variables=lies.variables)
    assert denied.returncode == 1
    assert '"answer":"refused"' in denied.stdout
