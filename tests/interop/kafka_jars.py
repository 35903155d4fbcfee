"""Kafka's jars: controller and broker, the command-line tools, the metadata shell, and a logger to
stderr."""

from __future__ import annotations

from tests.interop.maven_jars import Jar, jars_in_cache, or_skip

VERSION = "4.1.1"
_JARS = (
    Jar("org.apache.kafka", "kafka_2.13", VERSION),
    Jar("org.apache.kafka", "kafka-tools", VERSION),
    Jar("org.apache.kafka", "kafka-shell", VERSION),
    Jar("org.slf4j", "slf4j-simple", "1.7.36"),
)


def class_path() -> str:
    """Kafka's jars as a Java class path; CalledProcessError where they can't be fetched."""
    return f"{jars_in_cache(f'kafka-{VERSION}', _JARS)}/*"


def class_path_or_skip() -> str:
    """The same for a test."""
    return or_skip(class_path, f"Kafka {VERSION}")
