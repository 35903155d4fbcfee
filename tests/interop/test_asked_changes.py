"""The benchmark that asks voters of ours and controllers of Kafka's for the same changes."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from replica.format.segment import scan
from tests.bench.asked_changes import Load, Voter, kafkas, ours
from tests.bench.change_requests import Request, altered_partitions, produces
from tests.bench.partition_changes import AT_ONCE
from tests.interop.kafka_jars import class_path_or_skip

OPTIONS = argparse.Namespace(partitions=20_000, rate=200, seconds=12.0, every=5.0, warm_up=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("running", "made"), [(ours, produces), (kafkas, altered_partitions)])
def test_each_answered_request_has_ten_changes_in_the_log(
    running: Callable[[Path, argparse.Namespace], AbstractContextManager[list[Voter]]],
    made: Callable[[int], Iterator[Request]],
    tmp_path: Path,
) -> None:
    class_path_or_skip()
    with running(tmp_path, OPTIONS) as voters:
        before = max(map(end, voters))
        told = asyncio.run(Load(voters, made(OPTIONS.partitions), OPTIONS).told("they"))
        changes = max(map(end, voters)) - before
    assert not re.search("INVALID|FENCED|INELIGIBLE|UNKNOWN", told), told
    counts = [int(found) for found in re.findall(r"a snapshot (\d+) appends", told)]
    assert len(counts) == 2  # without one, and with one
    assert changes > AT_ONCE * sum(counts)


def end(voter: Voter) -> int:
    """The end offset of its log."""
    newest = max(voter.folder.glob("*.log"))
    return scan(newest.read_bytes()).batches[-1].header.last_offset + 1
