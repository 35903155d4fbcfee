"""Which files the commands that examine a node's directory open: topic data is not among them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.forked import completed
from tests.jobs.directory_commands import COPYING, READING, REHEARSE
from tests.kraftlake_process import REPOSITORY, WITHIN_S, may_fork, wanted

_NODE = REPOSITORY / "tests" / "data" / "kafka-4.1.1-dynamic" / "split" / "2"
_WATCHED = """
import sys
from jobs.cli.main import main
from tests.fork_server import tell_what_is_opened
tell_what_is_opened(sys.argv[1])
main(sys.argv[2:])
"""
_OPTIONS = {**{name: forms[0] for name, forms in READING.items()}, "rehearse": REHEARSE}
_METADATA = (
    "meta.properties",
    "bootstrap.checkpoint",
    "quorum.properties",
    "capture.json",
    "__cluster_metadata-0",
)


def _run(told: Path, *arguments: object) -> None:
    """Runs a command, and writes into a file what it opens."""
    if may_fork():
        completed(replace(wanted(arguments), opened_to=str(told)), "", WITHIN_S)
        return
    subprocess.run(
        [sys.executable, "-c", _WATCHED, told, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=WITHIN_S,
        check=False,
    )


def _opened(node: Path, told: Path, *arguments: object) -> set[str]:
    """What a command opened below a node's log directory, by the first part of the path."""
    _run(told, *arguments)
    paths = [Path(line) for line in told.read_text(encoding="utf-8").splitlines()]
    inside = [path.relative_to(node) for path in paths if path.is_relative_to(node)]
    return {path.parts[0] for path in inside if path.parts}


@pytest.mark.parametrize("command", ["diff", *COPYING, *_OPTIONS])
def test_topic_data_broker_logs_and_key_stores_are_never_opened(
    command: str, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(_NODE, tmp_path / "node"))
    for folder in ("orders-0", "__consumer_offsets-7", "logs"):
        (node / folder).mkdir()
    others = (
        "orders-0/00000000000000000000.log",
        "orders-0/leader-epoch-checkpoint",
        "__consumer_offsets-7/00000000000000000000.log",
        "logs/server.log",
        "kafka.keystore.jks",
        "replication-offset-checkpoint",
        "server.properties",
    )
    for name in others:
        (node / name).write_bytes(b"secret")
    more: dict[str, tuple[object, ...]] = {
        **_OPTIONS,
        "capture": ("-o", tmp_path / "captured"),
        "redact": ("-o", tmp_path / "redacted"),
        "diff": (_NODE,),
    }
    opened = _opened(node, tmp_path / "told", command, node, *more.get(command, ()))
    assert "__cluster_metadata-0" in opened
    assert opened <= set(_METADATA)


@pytest.mark.parametrize("command", ["diff", "ingest", *COPYING, *_OPTIONS])
def test_no_link_in_a_directory_makes_a_command_open_a_file_elsewhere(
    command: str, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(_NODE, tmp_path / "node"))
    (node / "kafka.keystore.jks").write_bytes(b"secret")
    folder = node / "__cluster_metadata-0"
    names = ("00000000000000009000.log", "quorum-state", "partition.metadata")
    links = [*(folder / name for name in names), node / "meta.properties", node / "capture.json"]
    for link in links:
        link.unlink(missing_ok=True)
        link.symlink_to(node / "kafka.keystore.jks")
    more: dict[str, tuple[object, ...]] = {
        **_OPTIONS,
        "capture": ("-o", tmp_path / "captured"),
        "redact": ("-o", tmp_path / "redacted"),
        "diff": (_NODE,),
        "ingest": ("--lake", tmp_path / "lake", "--dry-run"),
    }
    _run(tmp_path / "told", command, node, *more.get(command, ()))
    opened = (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    assert str(folder / "leader-epoch-checkpoint") in opened or command in ("dump", "ingest")
    assert not {str(link) for link in links} & set(opened)
    assert str(node / "kafka.keystore.jks") not in opened
