"""Which files the commands that examine a node's directory open: topic data is not among them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY

_NODE = REPOSITORY / "tests" / "data" / "kafka-4.1.1-dynamic" / "split" / "2"
_WATCHED = """
import os, sys
node, told = sys.argv[1], open(sys.argv[2], "w")
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        if arguments[2] & os.O_NOFOLLOW and os.path.islink(arguments[0]):
            return  # the system refuses it
        told.write(str(arguments[0]) + chr(10))
sys.addaudithook(note)
from jobs.cli import main
main(sys.argv[3:])
"""
_OF_A_STATE: dict[str, tuple[object, ...]] = {
    "plan": ("--to-dynamic",),
    "restore": ("--release", "4.4", "--dry-run"),
    "recover": ("--plan",),
    "rehearse": ("--seeds", "0:1", "--failures", "0"),
    "state": (),
    "history": (),
    "timeline": (),
}
_METADATA = ("meta.properties", "bootstrap.checkpoint", "quorum.properties", "__cluster_metadata-0")


def _opened(node: Path, told: Path, *arguments: object) -> set[str]:
    """What a command opened below a node's log directory, by the first part of the path."""
    subprocess.run(
        [sys.executable, "-c", _WATCHED, node, told, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=120,
        check=False,
    )
    paths = [Path(line) for line in told.read_text(encoding="utf-8").splitlines()]
    inside = [path.relative_to(node) for path in paths if path.is_relative_to(node)]
    return {path.parts[0] for path in inside if path.parts}


@pytest.mark.parametrize("command", ["check", "dump", "capture", "redact", "diff", *_OF_A_STATE])
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
        **_OF_A_STATE,
        "capture": ("-o", tmp_path / "captured"),
        "redact": ("-o", tmp_path / "redacted"),
        "diff": (_NODE,),
    }
    opened = _opened(node, tmp_path / "told", command, node, *more.get(command, ()))
    assert "__cluster_metadata-0" in opened
    assert opened <= set(_METADATA)


@pytest.mark.parametrize(
    "command", ["check", "dump", "capture", "redact", "diff", "ingest", *_OF_A_STATE]
)
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
        **_OF_A_STATE,
        "capture": ("-o", tmp_path / "captured"),
        "redact": ("-o", tmp_path / "redacted"),
        "diff": (_NODE,),
        "ingest": ("--lake", tmp_path / "lake", "--dry-run"),
    }
    _opened(node, tmp_path / "told", command, node, *more.get(command, ()))
    opened = (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    assert str(folder / "leader-epoch-checkpoint") in opened or command in ("dump", "ingest")
    assert not {str(link) for link in links} & set(opened)
    assert str(node / "kafka.keystore.jks") not in opened
