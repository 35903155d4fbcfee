"""Real Kafka as the yardstick: its kafka-dump-log, its classes in a JVM, and its server."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pipelines.spark.java import find_java
from tests.interop.kafka_jars import class_path, dump_tool
from tests.interop.kafka_node import Controller, java_command

VERSION = "4.1.2"
"""The Kafka release that RESULTS.md measures. JvmDecode.java expects the tool and the record
classes of this release."""
_DRIVER = Path(__file__).with_name("JvmDecode.java")
_OF_A_SERVER = ("-Xms1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
_OF_A_SERVER += ("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent")


class KafkaServer(Controller):
    """As kafka-server-start runs it: with a heap of 1 GiB, and options for its collector."""

    def start(self) -> None:
        arguments = [str(self.properties)]
        java, *options = java_command(
            "info", "kafka.Kafka", arguments, self.version, heap="1g", is_short_lived=False
        )
        self._run([java, *_OF_A_SERVER, *options])

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


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
