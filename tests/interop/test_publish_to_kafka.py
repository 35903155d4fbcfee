"""`kraftlake publish` to a real broker: each change once, also across kill -9."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from jobs.cli.commands.sharing import PublishOptions
from jobs.publish import run as publish_table
from pipelines.feeds import kafka_topics
from pipelines.feeds.kafka import KafkaDestination, KafkaTarget, kafka_target
from pipelines.feeds.message import json_schema
from pipelines.feeds.publishing import publish
from pipelines.lake import Lake
from replica.errors import AuthenticationError, PeerError, UsageError
from tests.interop.kafka_cluster import CLUSTER_ID, STARTED
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.kraftlake_process import REPOSITORY, command_line
from tests.pipelines.feeds.feed_table import CHANGES, FINDINGS, FeedTable, change, finding

pytestmark = pytest.mark.slow

PARTITIONS = 3
PROGRESS = "kraftlake-publish-progress"
ENDED_S = 120


@dataclass(frozen=True)
class Listeners:
    """HOST:PORT of one broker: without security, and with SASL PLAIN."""

    plain: str
    secure: str


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    """Of a broker that is its own controller."""
    class_path_or_skip()
    controller, port, secure = free_ports(3)
    internal = ("offsets.topic", "transaction.state.log")
    settings: dict[str, object] = {
        "process.roles": "broker,controller",
        "listeners": f"CONTROLLER://127.0.0.1:{controller},PLAINTEXT://127.0.0.1:{port},"
        f"SECURE://127.0.0.1:{secure}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        "SECURE:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
        'PlainLoginModule required user_lake="T0P-SECRET";',
        "num.partitions": PARTITIONS,
        "transaction.state.log.min.isr": 1,
        **{f"{topic}.replication.factor": 1 for topic in internal},
        **{f"{topic}.num.partitions": 1 for topic in internal},
    }
    folder = tmp_path_factory.mktemp("broker")
    node = Controller(folder, 1, {1: controller}, is_static=False, settings=settings)
    node.format(CLUSTER_ID, "--standalone")
    with node:
        node.wait_for(STARTED)
        yield Listeners(f"127.0.0.1:{port}", f"127.0.0.1:{secure}")


@pytest.fixture
def broker(listeners: Listeners) -> str:
    return listeners.plain


@pytest.fixture
def table(tmp_path: Path) -> FeedTable:
    return FeedTable(tmp_path / "lake", CHANGES)


def run(table: FeedTable, broker: str, topic: str, **options: Any) -> int:
    lake = Lake(table.path.removesuffix(table.feed.name.replace(".", "/")))
    return publish_table(PublishOptions(lake, table.feed.name, broker, topic, **options))


def started(table: FeedTable, broker: str, topic: str, *options: str) -> subprocess.Popen[str]:
    """The command as a process."""
    lake = table.path.removesuffix(table.feed.name.replace(".", "/"))
    command = ["publish", "--lake", lake, "--table", table.feed.name, "-b", broker]
    return subprocess.Popen(
        command_line(*command, "--topic", topic, *options),
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read(broker: str, topic: str, isolation: str = "read_committed") -> list[Message]:
    """All records of the topic, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": "test",
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    found: dict[int, list[Message]] = {index: [] for index in partitions}
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in partitions])
    ended, deadline = set(), time.monotonic() + ENDED_S
    while len(ended) < len(partitions):
        assert time.monotonic() < deadline
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            found[message.partition()].append(message)
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
    consumer.close()
    return [message for messages in found.values() for message in messages]


def place(message: Message) -> tuple[int, int]:
    """(version, ordinal) of a record."""
    headers = dict(message.headers())
    return int(headers["version"]), int(headers["ordinal"])


def test_each_change_is_a_record_with_key_and_headers(broker: str, table: FeedTable) -> None:
    table.replace(change(n) for n in range(30))
    run(table, broker, "changes")
    run(table, broker, "changes")
    table.replace(change(n, commitment="superseded" if n == 3 else "proven") for n in range(2, 31))
    table.overwrite(
        change(n, commitment="superseded" if n == 3 else "proven") for n in range(2, 31)
    )
    run(table, broker, "changes")

    records = read(broker, "changes")

    first = {place(record) for record in records if place(record)[0] == 1}
    assert first == {(1, n) for n in range(30)}
    ops = [dict(record.headers())["op"].decode() for record in records]
    assert {op: ops.count(op) for op in ops} == {"read": 30, "insert": 1, "update": 1, "delete": 2}
    assert len(records) == 34
    schema = jsonschema.Draft202012Validator(json_schema(table.feed))
    for record in records:
        value = json.loads(record.value())
        schema.validate(value)
        row = value["after"] or value["before"]
        assert json.loads(record.key()) == {name: row[name] for name in table.feed.key}
        assert dict(record.headers())["table"] == CHANGES.encode()
    by_key: dict[bytes, list[Message]] = {}
    for record in records:
        by_key.setdefault(record.key(), []).append(record)
    assert len(by_key) == 3
    for same in by_key.values():
        assert len({record.partition() for record in same}) == 1, "a key in two partitions"
        assert [place(record) for record in same] == sorted(place(record) for record in same)


def test_nothing_is_lost_or_doubled_by_kill_9(broker: str, table: FeedTable) -> None:
    """A first run of nine transactions and twelve small versions, killed again and again."""
    rows = [change(n, key=f"topic:{n % 50}") for n in range(40_000)]
    table.replace(rows)
    dice, kills = random.Random(7), 0
    for attempt in range(12):
        process = started(table, broker, "killed")
        if attempt == 0:
            wait_for_records(broker, "killed")
        else:
            time.sleep(dice.uniform(0.5, 3))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        table.replace(rows[attempt + 1 :])
    last = started(table, broker, "killed")
    _, told = last.communicate(timeout=ENDED_S)
    assert last.returncode == 0, told

    committed = read(broker, "killed")
    places = [place(record) for record in committed]
    assert kills > 3, "the publisher was always faster"
    assert len(set(places)) == len(places), "a change twice"
    # each version behind the first has a row less
    later = {(version, 0) for version in range(2, table.version + 1)}
    assert set(places) == {(1, n) for n in range(len(rows))} | later, "a change is missing"
    assert {place(r) for r in committed if dict(r.headers())["op"] == b"delete"} == later
    aborted = len(read(broker, "killed", "read_uncommitted")) - len(committed)
    print(f"{kills} kills, {aborted} records of aborted transactions")  # noqa: T201 - a figure


def wait_for_records(broker: str, topic: str) -> None:
    """Until somebody has written to the topic, committed or not."""
    watcher = Consumer({"bootstrap.servers": broker, "group.id": "watch"})
    deadline = time.monotonic() + ENDED_S
    while time.monotonic() < deadline:
        try:
            if watcher.get_watermark_offsets(TopicPartition(topic, 0), timeout=5)[1] > 0:
                watcher.close()
                return
        except KafkaException:
            pass  # no such topic yet
        time.sleep(0.05)
    raise AssertionError("nothing was published")


def test_an_open_transaction_of_a_predecessor_is_never_read(broker: str, table: FeedTable) -> None:
    table.replace([change(1)])
    run(table, broker, "left-open")
    predecessor = transactional(broker, f"kraftlake-publish.{CHANGES}.left-open")
    predecessor.begin_transaction()
    predecessor.produce("left-open", b"never committed", b"key")
    assert predecessor.flush(30) == 0
    table.replace([change(1), change(2)])

    run(table, broker, "left-open")

    assert [place(record) for record in read(broker, "left-open")] == [(1, 0), (2, 0)]
    with pytest.raises(KafkaException) as fenced:
        predecessor.commit_transaction(30)
    assert fenced.value.args[0].fatal()


def test_progress_behind_anothers_open_transaction_is_waited_for(
    broker: str, table: FeedTable
) -> None:
    """Else a publisher would take older progress for the newest, and publish all again."""
    table.replace([change(1)])
    run(table, broker, "behind")
    other = transactional(broker, "another")
    other.begin_transaction()
    for partition in range(PARTITIONS):
        other.produce(PROGRESS, b"{}", b"another", partition=partition)
    assert other.flush(30) == 0
    table.replace([change(2)])
    waiting = threading.Thread(target=run, args=(table, broker, "behind"))
    waiting.start()
    waiting.join(3)
    assert waiting.is_alive(), "read past an open transaction"
    other.commit_transaction(30)
    waiting.join(ENDED_S)
    assert sorted(place(record) for record in read(broker, "behind")) == [(1, 0), (2, 0), (2, 1)]


def test_a_second_publisher_takes_over_from_the_first(broker: str, table: FeedTable) -> None:
    table.replace([change(1)])
    feed = table.opened()
    to = KafkaDestination("taken", PROGRESS, {"bootstrap.servers": broker})

    def overtaken() -> None:
        with kafka_target(to, feed.feed, feed.table_id) as first:
            run(table, broker, "taken")
            table.replace([change(2)])
            publish(feed, first, lambda *_: None)

    with pytest.raises(PeerError, match="another kraftlake publish took over this table and topic"):
        overtaken()
    assert len(read(broker, "taken")) == 1


def test_a_row_too_large_for_the_topic_says_what_to_raise(broker: str, table: FeedTable) -> None:
    version = table.replace([change(1), change(2, new="x" * 3_000_000)])
    admin = AdminClient({"bootstrap.servers": broker})
    (made,) = admin.create_topics([NewTopic("large", 1, 1)]).values()
    made.result(30)
    properties = ["message.max.bytes=4000000"]
    with pytest.raises(PeerError, match=r"raise max\.message\.bytes of the topic"):
        run(table, broker, "large", properties=properties)
    assert read(broker, "large") == []
    raised = ConfigEntry(
        "max.message.bytes", "5000000", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, "large", incremental_configs=[raised])
    (altered,) = admin.incremental_alter_configs([resource]).values()
    altered.result(30)
    run(table, broker, "large", properties=properties)
    assert [place(record) for record in read(broker, "large")] == [(version, 0), (version, 1)]


def test_a_transaction_that_has_to_be_aborted_is_done_again(
    broker: str, table: FeedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that the broker refuses goes with the first attempts."""
    run(table, broker, "again")
    table.replace(change(n) for n in range(20))
    produce_all, attempts = KafkaTarget._produce_all, iter(("bad", "bad"))

    def produce_more(target: KafkaTarget, *arguments: Any) -> None:
        produce_all(target, *arguments)
        if next(attempts, None):
            target._produce("again", b"key", b"x" * 3_000_000, {}, lambda: None)

    monkeypatch.setattr(KafkaTarget, "_produce_all", produce_more)
    assert run(table, broker, "again", properties=["message.max.bytes=4000000"]) == 0

    assert {place(record) for record in read(broker, "again")} == {(1, n) for n in range(20)}
    assert len(read(broker, "again", "read_uncommitted")) > 20
    assert next(attempts, None) is None


def test_follow_publishes_new_versions_until_it_is_interrupted(
    broker: str, table: FeedTable
) -> None:
    process = started(table, broker, "followed", "--follow", "--interval", "0.1")
    for count in range(1, 4):
        table.replace(change(n) for n in range(count))
    assert process.stderr is not None
    for line in process.stderr:
        if f"version {table.version}" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=ENDED_S)
    assert (process.returncode, out) == (0, ""), err
    assert err.splitlines()[-1] == "publish: 3 changes of gold.metadata_changes published"
    assert len(read(broker, "followed")) == 3


def test_a_findings_key_is_the_tables_and_a_progress_topic_must_be_compacted(
    broker: str, tmp_path: Path, table: FeedTable
) -> None:
    findings = FeedTable(tmp_path / "lake", FINDINGS)
    findings.replace([finding("x"), finding("y", offset=None)])
    run(findings, broker, "found")
    keys = [json.loads(record.key()) for record in read(broker, "found")]
    assert sorted(key["message"] for key in keys) == ["x", "y"]
    assert all(set(key) == set(findings.feed.contract.keys) for key in keys)

    run(table, broker, "plain-target")
    with pytest.raises(UsageError, match=r"topic plain-target has cleanup.policy=delete"):
        run(table, broker, "other", progress_topic="plain-target")


def test_the_producer_s_file_says_who_publishes(
    listeners: Listeners,
    table: FeedTable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_topics, "_TIMEOUT_S", 5.0)
    table.replace([change(1)])
    config = tmp_path / "producer.properties"

    def publish_as(password: str) -> int:
        config.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=lake\n"
            f"sasl.password={password}\n"
        )
        return run(table, listeners.secure, "secure", producer_config=str(config))

    with pytest.raises(
        AuthenticationError, match="authentication failed; see --producer-con"
    ) as no:
        publish_as("WRONG-SECRET")
    assert "SECRET" not in str(no.value)
    assert publish_as("T0P-SECRET") == 0
    assert len(read(listeners.plain, "secure")) == 1


def transactional(broker: str, name: str) -> Producer:
    made = Producer({"bootstrap.servers": broker, "transactional.id": name})
    made.init_transactions(30)
    return made
