"""Kafka's own kafka-dump-log, of any release."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.interop.kafka_jars import NEWEST, dump_tool
from tests.interop.kafka_node import run_tool

_DRIVER = Path(__file__).with_name("DumpFiles.java")
_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .* headerKeys: \[\] (.*)")
_BEFORE_THE_FIRST = re.compile(r"Non-consecutive offsets in .*\n(?:  -1 is followed by \d+\n)+")
_PAYLOAD = "payload: "


def kafka_dump(
    files: Iterable[Path], *options: str, version: str = NEWEST, within_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """The output of kafka-dump-log for log files, checkpoints and indexes, one after the other."""
    names = ",".join(map(str, files))
    return run_tool(
        str(_DRIVER), dump_tool(version), names, *options, version=version, within_s=within_s
    )


def unexpected(ran: subprocess.CompletedProcess[str]) -> str:
    """The tool's stderr, without one line about every segment after the first: the tool of 4.3
    expects -1 as the offset before a file's first one."""
    return _BEFORE_THE_FIRST.sub("", ran.stderr)


def dumped(text: str) -> Iterator[tuple[int, int, Any]]:
    """Offset, timestamp and content of each record that was printed with --print-data-log and
    --cluster-metadata-decoder. The content is None for a change of leaders, which Kafka 3.9 does
    not print."""
    for offset, time, content in _RECORD.findall(text):
        if content.startswith(_PAYLOAD):
            yield int(offset), int(time), json.loads(content.removeprefix(_PAYLOAD))["data"]
        elif content.startswith("controlType: LEADER_CHANGE"):
            yield int(offset), int(time), None
        else:
            yield int(offset), int(time), json.loads(content.partition(" ")[2])


def payloads(text: str) -> list[str]:
    """The text of each printed metadata record, unchanged."""
    contents = (content for _, _, content in _RECORD.findall(text))
    return [each.removeprefix(_PAYLOAD) for each in contents if each.startswith(_PAYLOAD)]
