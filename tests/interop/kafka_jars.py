"""Kafka's jars: controller and broker, the command-line tools, the metadata shell, and a logger to
stderr.

VERSIONS are the releases that tests run against. NEWEST is the release of a test that names none.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.interop.maven_jars import Jar, Jars, or_skip

VERSIONS = ("3.9.2", "4.1.2", "4.3.1", "4.4.0")
NEWEST = VERSIONS[-1]
_TOOLS_OF = {"4.4.0": "4.3.1"}
"""Releases whose kafka-tools and kafka-shell are missing in Maven Central, with the release whose
tools and shell run with their classes instead."""
_LOGGER = Jar("org.slf4j", "slf4j-simple", "1.7.36")
_OTHER_LOGGERS = "slf4j-reload4j-"
"""3.9 has a logger of its own. SLF4J complains about a second logger, and
takes either of the two."""


def class_path(version: str = NEWEST) -> str:
    """Kafka's jars as a Java class path. Raises CalledProcessError where they can't be fetched."""
    return os.pathsep.join(_paths(version).values())


def tools_class_path(version: str = NEWEST) -> str:
    """The class path of Kafka's command-line tools. Where the tools are of an older release, the
    jars of that release come after: the tools find classes there that have moved since."""
    first, behind = _paths(version), _paths(_TOOLS_OF.get(version, version))
    return os.pathsep.join((first | {n: p for n, p in behind.items() if n not in first}).values())


def broker_class_path(version: str) -> str:
    """The class path of a release of Kafka, which need not be in VERSIONS. For a release that isn't
    in VERSIONS, Kafka's tools are left out."""
    if version in VERSIONS:
        return class_path(version)
    return f"{Jars('kafka-broker', version, (_broker(version), _LOGGER)).fetched()}/*"


def class_path_or_skip(version: str = NEWEST) -> str:
    """The class path for a test, which is skipped where the jars can't be fetched."""
    return or_skip(lambda: class_path(version), f"Kafka {version}")


def jar_folder(version: str) -> Path:
    """The folder of a version's jars, once they are fetched."""
    return _jars(version).folder


def dump_tool(version: str = NEWEST) -> str:
    """The main class of kafka-dump-log, which moved in 4.3."""
    return f"{'org.apache.' if numbers(version) >= (4, 3) else ''}kafka.tools.DumpLogSegments"


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, which compare in the order of the releases."""
    return tuple(map(int, version.split(".")))


def _paths(version: str) -> dict[str, str]:
    """The paths of the jars, by file name."""
    found = sorted(_jars(version).fetched().glob("*.jar"))
    return {jar.name: str(jar) for jar in found if not jar.name.startswith(_OTHER_LOGGERS)}


def _jars(version: str) -> Jars:
    release = _TOOLS_OF.get(version, version)
    tools = (Jar("org.apache.kafka", name, release) for name in ("kafka-tools", "kafka-shell"))
    return Jars("kafka", version, (_broker(version), *tools, _LOGGER))


def _broker(version: str) -> Jar:
    """The jar with everything that a node needs."""
    return Jar("org.apache.kafka", "kafka_2.13", version)
