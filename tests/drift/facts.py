"""The facts of a Kafka release, read from its classes by KafkaFacts.java."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.interop.class_archive import java
from tests.interop.kafka_jars import broker_class_path

_PROGRAM = Path(__file__).with_name("KafkaFacts.java")
_SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options for a short run: Java's optimizing compiler takes more time than it saves here. 2 s of
processor time instead of 4 s."""


@cache
def facts_of(version: str) -> dict[str, Any]:
    """The facts. Raises CalledProcessError where the jars can't be fetched, or where a class has
    changed; then stderr has the program's output."""
    ran = subprocess.run(
        [str(java().executable), *_SHORT_RUN, "-cp", broker_class_path(version), str(_PROGRAM)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found | {"release": ".".join(version.split(".")[:2])}
