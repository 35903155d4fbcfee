"""A directory that a newer Kafka wrote, and what an older one does with a copy of it, beside what
`kraftlake plan --downgrade-binaries` and `check --readable-by` say. The cases are rows of
READERS.md."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from replica.metadata.changes.releases import NEWEST_LEVELS
from replica.metadata.image.settings import METADATA_VERSION
from tests.interop.asked_plan import planned
from tests.interop.kafka_jars import VERSIONS, class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.interop.result_page import READERS, hold
from tests.kraftlake_process import kraftlake
from tests.waiting import until

pytestmark = pytest.mark.slow

REGISTERED = "Replayed RegisterControllerRecord"
"""A controller says so of itself, once it leads and has replayed its log."""
STREAMS = ("streams.version", 0)


class Case(NamedTuple):
    """What the newer release does. formatted: the release that kafka-storage formats for; None for
    its own. lowered: features that are lowered while it runs. snapshot: whether it then writes a
    snapshot before it stops."""

    name: str
    formatted: str | None = None
    lowered: tuple[tuple[str, int], ...] = ()
    snapshot: bool = False
    is_static: bool = False
    runs: bool = True


def level(release: str) -> tuple[str, int]:
    return METADATA_VERSION, NEWEST_LEVELS[release]


def cases() -> Iterator[tuple[str, str, Case]]:
    """(newer, older, case): two of each pair of releases, and those in which levels are lowered."""
    for older, newer in combinations(VERSIONS, 2):
        release = older.rpartition(".")[0]
        yield newer, older, Case("at its own levels")
        yield newer, older, Case(f"formatted for {release}", release)
    down = (level("4.1"), STREAMS)
    for newer in VERSIONS[2:]:
        for_4_2 = "formatted for 4.2"
        yield newer, "4.1.2", Case(f"{for_4_2}, all lowered to 4.1", "4.2", down)
        yield newer, "4.1.2", Case(f"{for_4_2}, all lowered to 4.1, snapshot", "4.2", down, True)
        only = f"{for_4_2}, metadata.version lowered to 4.1, snapshot"
        yield newer, "4.1.2", Case(only, "4.2", down[:1], True)
    static = "static, formatted for 4.1"
    yield "4.4.0", "4.1.2", Case(static, "4.1", is_static=True)
    yield "4.4.0", "4.1.2", Case("formatted for 4.1, never started", "4.1", runs=False)
    yield "4.4.0", "4.1.2", Case("formatted for 4.2, never started", "4.2", runs=False)


def controller(folder: Path, port: int, version: str, case: Case) -> Controller:
    settings = {"metadata.log.max.snapshot.interval.ms": 2000} if case.snapshot else {}
    return Controller(
        folder, 1, {1: port}, is_static=case.is_static, settings=settings, version=version
    )


def lower(kafka: Controller, feature: str, to: int) -> None:
    tool = ("org.apache.kafka.tools.FeatureCommand", "--bootstrap-controller")
    what = ("downgrade", "--feature", f"{feature}={to}")
    ran = run_tool(*tool, f"127.0.0.1:{kafka.port}", *what, version=kafka.version)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def snapshots(kafka: Controller) -> set[str]:
    return {path.name for path in kafka.partition.glob("*.checkpoint")}


def written(folder: Path, port: int, version: str, case: Case) -> None:
    kafka = controller(folder, port, version, case)
    formatting = () if case.is_static else ("--standalone",)
    if case.formatted is not None:
        formatting = (*formatting, "--release-version", case.formatted)
    kafka.format(CLUSTER_ID, *formatting)
    if not case.runs:
        return
    with kafka:
        kafka.wait_for(REGISTERED)
        for feature, to in case.lowered:
            lower(kafka, feature, to)
        if case.snapshot:
            before = snapshots(kafka)
            until(lambda: len(snapshots(kafka) - before) > 1, "no snapshot")


def what_it_does(kafka: Controller) -> str:
    """The first fault of a node that ends; else that it starts."""
    kafka.start()
    try:
        until(lambda: REGISTERED in kafka.log or not kafka.is_running, "neither ended nor led")
        if kafka.is_running:
            return "started, and leads"
    finally:
        kafka.kill()
    found = re.search(r"(?:Tried to apply|No MetadataVersion with|Unsupported)[^\n|]*", kafka.log)
    assert found, kafka.log[-3000:]
    name = re.search(r"name='([a-z.]+)', featureLevel=([0-9]+)", found[0])
    if name is None or name[1] == METADATA_VERSION:  # two threads name it, in other words
        return f"ended: {METADATA_VERSION}"
    return f"ended: {name[1]} {name[2]}"


def warns(log_dir: Path, release: str) -> bool:
    ran = kraftlake("check", "--json", "--family", "files", "--readable-by", release, log_dir)
    rows = map(json.loads, ran.stdout.splitlines())
    return any(row.get("rule") == "unreadable-by-release" for row in rows)


@pytest.mark.parametrize(("newer", "older", "case"), list(cases()))
def test_an_older_release_ends_where_it_is_said_to_and_starts_elsewhere(
    tmp_path: Path, newer: str, older: str, case: Case
) -> None:
    for version in (newer, older):
        class_path_or_skip(version)
    (port,) = free_ports(1)
    written(tmp_path / "newer", port, newer, case)
    log_dir, release = tmp_path / "newer" / "log", older.rpartition(".")[0]
    if case.runs:
        answer = planned(log_dir, "--downgrade-binaries", release)
        said, subjects = answer["answer"], [
            one["subject"] for one in answer["reasons"] if one["answer"] == "unsafe"
        ]  # fmt: skip
        assert (said == "unsafe") == warns(log_dir, release)
    else:  # a log without a record has no state to plan with
        said, subjects = ("unsafe" if warns(log_dir, release) else "safe"), []
    shutil.copytree(tmp_path / "newer", tmp_path / "older")
    did = what_it_does(controller(tmp_path / "older", port, older, case))
    assert (said == "safe") == did.startswith("started"), did
    hold(READERS, (newer, older, case.name), (said, ", ".join(dict.fromkeys(subjects)), did))
