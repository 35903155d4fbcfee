"""Kafka's jars: controller and broker, the command-line tools, the metadata shell, and a logger to
stderr.

VERSION is what all tests use; OLDER_VERSION is of Kafka's last line with ZooKeeper."""

from __future__ import annotations

from pathlib import Path

from tests.interop.maven_jars import Jar, Jars, or_skip

VERSION, OLDER_VERSION = "4.1.1", "3.9.1"


def class_path(version: str = VERSION) -> str:
    """Kafka's jars as a Java class path; CalledProcessError where they can't be fetched."""
    return f"{_jars(version).fetched()}/*"


def class_path_or_skip(version: str = VERSION) -> str:
    """The same for a test."""
    return or_skip(lambda: class_path(version), f"Kafka {version}")


def jar_folder(version: str) -> Path:
    """Where a version's jars are kept, once they are fetched."""
    return _jars(version).folder


def _jars(version: str) -> Jars:
    kafka = ("kafka_2.13", "kafka-tools", "kafka-shell")
    logger = Jar("org.slf4j", "slf4j-simple", "1.7.36")
    jars = (*(Jar("org.apache.kafka", name, version) for name in kafka), logger)
    return Jars("kafka", version, jars)
