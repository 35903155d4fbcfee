"""Kafka clients of other projects, each reading a partition from its earliest offset to its end."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
import kafka

from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import tool_command
from tests.interop.spark_jars import KAFKA_CLIENTS, kafka_source_or_skip
from tests.interop.spark_jars import VERSION as SPARK_VERSION
from tests.kraftlake_process import REPOSITORY, command_line

WITHIN_S = 60
QUIET_S = 1.0
"""The seconds without a record after which a client counts as at the end."""


@dataclass(frozen=True)
class Reading:
    """What to read, and by which client. rack: the rack of the preferred replica. isolation:
    read_committed or read_uncommitted."""

    bootstrap: str
    topic: str
    client_id: str
    rack: str
    isolation: str


@dataclass(frozen=True)
class Read:
    """The result. values: of all records up to the end. position: the offset of the next record."""

    values: list[bytes]
    position: int


@dataclass(frozen=True)
class Client:
    name: str
    version: str
    read: Callable[[Reading], Read]
    streamed: Callable[[Reading], Generator[bytes, None, None]] | None = None
    is_slow: bool = False


def consumer(reading: Reading, **settings: object) -> confluent_kafka.Consumer:
    """librdkafka's consumer, which wants a group although no group is used."""
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": reading.bootstrap,
            "client.id": reading.client_id,
            "client.rack": reading.rack,
            "isolation.level": reading.isolation,
            "group.id": "readers",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,  # errors are raised instead
            **settings,
        }
    )


def streamed_by_confluent_kafka(reading: Reading) -> Generator[bytes, None, None]:
    """The values from the earliest offset on, without end. Raises the client's errors."""
    begin = confluent_kafka.TopicPartition(reading.topic, 0, confluent_kafka.OFFSET_BEGINNING)
    reader = consumer(reading, **{"auto.offset.reset": "error", "enable.partition.eof": False})
    try:
        reader.assign([begin])
        while True:
            message = reader.poll(WITHIN_S)
            assert message is not None, "nothing came"
            if message.error() is not None:
                raise confluent_kafka.KafkaException(message.error())
            yield message.value()
    finally:
        reader.close()


def by_confluent_kafka(reading: Reading) -> Read:
    partition = confluent_kafka.TopicPartition(reading.topic, 0)
    begin = confluent_kafka.TopicPartition(reading.topic, 0, confluent_kafka.OFFSET_BEGINNING)
    values, reader = [], consumer(reading)
    try:
        reader.assign([begin])
        while (message := reader.poll(WITHIN_S)) is not None:
            error = message.error()
            if error is None:
                values.append(message.value())
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                break
            else:
                raise confluent_kafka.KafkaException(error)
        assert (late := reader.poll(QUIET_S)) is None, late
        (found,) = reader.position([partition])
        return Read(values, found.offset)
    finally:
        reader.close()


def _kafka_python(reading: Reading, **settings: object) -> kafka.KafkaConsumer:
    return kafka.KafkaConsumer(
        bootstrap_servers=reading.bootstrap.split(","),
        client_id=reading.client_id,
        client_rack=reading.rack,
        isolation_level=reading.isolation,
        group_id=None,
        **settings,
    )


def streamed_by_kafka_python(reading: Reading) -> Generator[bytes, None, None]:
    """The values, as by streamed_by_confluent_kafka."""
    partition = kafka.TopicPartition(reading.topic, 0)
    reader = _kafka_python(reading, auto_offset_reset="none")
    try:
        reader.assign([partition])
        reader.seek(partition, 0)
        while True:
            found = reader.poll(timeout_ms=WITHIN_S * 1000).get(partition)
            assert found, "nothing came"
            yield from (record.value for record in found)
    finally:
        reader.close()


def by_kafka_python(reading: Reading) -> Read:
    partition = kafka.TopicPartition(reading.topic, 0)
    reader = _kafka_python(reading)
    try:
        reader.assign([partition])
        reader.seek_to_beginning(partition)
        values: list[bytes] = []
        deadline, quiet_since = time.monotonic() + WITHIN_S, time.monotonic()
        while time.monotonic() < min(deadline, quiet_since + QUIET_S) or not values:
            assert time.monotonic() < deadline, "nothing came"
            found = reader.poll(timeout_ms=100).get(partition, [])
            values += [record.value for record in found]
            quiet_since = time.monotonic() if found else quiet_since
        return Read(values, reader.position(partition))
    finally:
        reader.close()


_SEPARATOR = "<end of a record>"


def by_kafka_console_consumer(reading: Reading) -> Read:
    """Reads by kafka-console-consumer, which prints offsets with the records. It ends where no
    record comes for a while."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "consumer.properties")
        config.write_text(f"client.id={reading.client_id}\nclient.rack={reading.rack}\n")
        arguments = [
            "--bootstrap-server",
            reading.bootstrap,
            "--topic",
            reading.topic,
            "--partition",
            "0",
            "--offset",
            "earliest",
            "--consumer.config",
            str(config),
            "--isolation-level",
            reading.isolation,
            "--timeout-ms",
            "15000",
            "--property",
            "print.offset=true",
            "--property",
            "key.separator=;",
            "--property",
            f"line.separator={_SEPARATOR}",
        ]
        main = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        ran = _run(tool_command("error", main, arguments))
    lines = ran.stdout.split(_SEPARATOR.encode())[:-1]
    numbered = [line.removeprefix(b"Offset:").split(b";", 1) for line in lines]
    assert numbered, ran.stderr.decode()
    return Read([value for _, value in numbered], int(numbered[-1][0]) + 1)


_SPARK = """
import base64, json, sys
from pipelines.spark.session import spark_session
jars, bootstrap, topic, client_id, rack, isolation = sys.argv[1:]
session = spark_session("reader", extra_conf={"spark.master": "local[1]", "spark.jars": jars})
options = {
    "kafka.bootstrap.servers": bootstrap, "kafka.client.id": client_id, "kafka.client.rack": rack,
    "kafka.isolation.level": isolation, "assign": json.dumps({topic: [0]}),
    "startingOffsets": "earliest", "endingOffsets": "latest",
}
rows = session.read.format("kafka").options(**options).load().select("offset", "value").collect()
print(json.dumps([[row.offset, base64.b64encode(row.value).decode()] for row in rows]))
"""


def by_spark(reading: Reading) -> Read:
    """Reads by a Spark batch query in a process of its own, from earliest to latest."""
    given = [reading.bootstrap, reading.topic, reading.client_id, reading.rack, reading.isolation]
    ran = _run([sys.executable, "-c", _SPARK, kafka_source_or_skip(), *given])
    assert ran.returncode == 0, ran.stderr.decode()
    rows = json.loads(ran.stdout)
    return Read([base64.b64decode(value) for _, value in rows], rows[-1][0] + 1)


def by_kraftlake_consume(reading: Reading) -> Read:
    """Reads to the end in the first answer. The command reads committed records; it has no
    isolation level and one client id."""
    options = ["-b", reading.bootstrap, "--topic", reading.topic, "--rack", reading.rack]
    ran = _run(command_line("consume", *options, "--json", "--until-end"))
    assert ran.returncode == 0, ran.stderr.decode()
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    values = [row["value"].encode() for row in rows if "value" in row]
    return Read(values, rows[-1]["offset"] + 1)


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, capture_output=True, check=False, cwd=REPOSITORY, timeout=4 * WITHIN_S
    )


def _console(reading: Reading) -> Read:
    class_path_or_skip()
    return by_kafka_console_consumer(reading)


CONFLUENT = Client(
    "confluent-kafka",
    f"{confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]}",
    by_confluent_kafka,
    streamed_by_confluent_kafka,
)
KAFKA_PYTHON = Client(
    "kafka-python",
    importlib.metadata.version("kafka-python"),
    by_kafka_python,
    streamed_by_kafka_python,
)
CONSOLE = Client("kafka-console-consumer", NEWEST, _console, is_slow=True)
SPARK = Client(
    "Spark's Kafka source",
    f"{SPARK_VERSION}, kafka-clients {KAFKA_CLIENTS}",
    by_spark,
    is_slow=True,
)
CONSUME = Client("kraftlake", importlib.metadata.version("kraftlake"), by_kraftlake_consume)
CLIENTS = (CONFLUENT, KAFKA_PYTHON, CONSOLE, SPARK)
