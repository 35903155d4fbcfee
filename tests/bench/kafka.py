"""Real Kafka as the yardstick: its kafka-dump-log, and its classes in a JVM."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pipelines.spark.java import find_java
from tests.interop.kafka_jars import class_path, dump_tool

VERSION = "4.1.2"
"""The Kafka release that RESULTS.md measures. JvmDecode.java expects the tool and the record
classes of this release."""
_DRIVER = Path(__file__).with_name("JvmDecode.java")


def dump_log_command(segment: Path) -> list[str]:
    """The command line of kafka-dump-log with the metadata decoder, which prints every record."""
    return [
        str(find_java().executable),
        "-cp",
        class_path(VERSION),
        dump_tool(VERSION),
        "--cluster-metadata-decoder",
        "--print-data-log",
        "--files",
        str(segment),
    ]


def in_process(segment: Path, mode: str, passes: int) -> list[float]:
    """The seconds of each pass of JvmDecode over the segment. The first passes warm the JVM up."""
    ran = subprocess.run(
        [
            str(find_java().executable),
            "-cp",
            class_path(VERSION),
            str(_DRIVER),
            str(segment),
            mode,
            str(passes),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(line.split()[1]) for line in ran.stdout.splitlines()]
