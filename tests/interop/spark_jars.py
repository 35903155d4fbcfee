"""The jars of Spark's Kafka source that Spark itself doesn't bring."""

from __future__ import annotations

from tests.interop.maven_jars import Jar, Jars, or_skip

VERSION = "4.2.0"
KAFKA_CLIENTS = "3.9.2"
_JARS = (
    Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION, with_closure=False),
    # the newest published release; the source only uses it to combine its options
    Jar("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", with_closure=False),
    Jar("org.apache.kafka", "kafka-clients", KAFKA_CLIENTS, with_closure=False),
    Jar("org.apache.commons", "commons-pool2", "2.13.1", with_closure=False),
)


def kafka_source() -> str:
    """The jars in the form of spark.jars. Raises CalledProcessError where they can't be fetched."""
    folder = Jars("spark-kafka", VERSION, _JARS).fetched()
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))


def kafka_source_or_skip() -> str:
    """The jars for a test, which is skipped where they can't be fetched."""
    return or_skip(kafka_source, f"Spark {VERSION}'s Kafka source")
