"""`kraftlake state --effective` on a node's metadata log, and what the node itself says is in force
(kafka-configs.sh --describe --all). The cases are rows of CONFIGS.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from replica.metadata.effective_configs import ALL_BROKERS, FILE, KAFKA
from tests.interop.combined_node import NODE_ID as BROKER
from tests.interop.combined_node import combined_node
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.result_page import CONFIGS, hold
from tests.kraftlake_process import kraftlake

CLUSTER, TOPIC = "Lr3UIdBxT-GFPYE5uprmrg", "orders"
IN_FILE = {"log_retention_hours": 20, "log_segment_bytes": 123456789, "num_io_threads": 7}
_LINE = re.compile(r"^  (\S+)=(.*) sensitive=\w+ synonyms=\{(.*)\}$")
_SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": f"topic {TOPIC}",
    "DYNAMIC_BROKER_CONFIG": f"broker {BROKER}",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": ALL_BROKERS,
    "STATIC_BROKER_CONFIG": FILE,
    "DEFAULT_CONFIG": KAFKA,
}


@dataclass(frozen=True)
class Case:
    """A config that is set. entity: as kafka-configs.sh names it. about: the topic's config and the
    broker's that the row of the table shows."""

    name: str
    entity: tuple[str, ...]
    config: str
    value: str
    about: tuple[str, str]


OF_SEVERAL_UNITS = ("retention.ms", "segment.ms", "segment.jitter.ms", "flush.ms")
"""Topics' configs for which brokers have several, such as log.retention.hours and .ms. Kafka looks
for values to tell in the first of these alone, so that it calls a value in hours its default."""
RETENTION = ("retention.ms", "log.retention.hours")
CASES = (
    Case("only the file", (), "", "", RETENTION),
    Case(
        "all brokers: log.retention.ms",
        ("brokers", ""), "log.retention.ms", "7000000", ("retention.ms", "log.retention.ms"),
    ),
    Case(
        "the broker: log.retention.ms",
        ("brokers", str(BROKER)), "log.retention.ms", "8000000",
        ("retention.ms", "log.retention.ms"),
    ),
    Case(
        "the topic: retention.ms",
        ("topics", TOPIC), "retention.ms", "9000000", ("retention.ms", "log.retention.ms"),
    ),
    Case(
        "all brokers: num.io.threads",
        ("brokers", ""), "num.io.threads", "5", ("segment.bytes", "num.io.threads"),
    ),
    Case(
        "the broker: log.segment.bytes",
        ("brokers", str(BROKER)), "log.segment.bytes", "222222222",
        ("segment.bytes", "log.segment.bytes"),
    ),
)  # fmt: skip
"""Each is set after those before it, which stay."""


class Node:
    """A combined node with a topic."""

    def __init__(self, folder: Path) -> None:
        self.kafka, self.bootstrap = combined_node(folder, **IN_FILE)

    def tool(self, main_class: str, *arguments: object) -> str:
        ran = run_tool(main_class, "--bootstrap-server", self.bootstrap, *arguments)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def configs(self, *arguments: object) -> str:
        return self.tool("kafka.admin.ConfigCommand", *arguments)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    class_path_or_skip(NEWEST)
    node = Node(tmp_path_factory.mktemp("configs") / "node")
    node.kafka.format(CLUSTER)
    try:
        node.kafka.start()
        node.kafka.wait_for("Kafka Server started")
        node.tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", TOPIC)
        yield node
    finally:
        node.kafka.kill()


@pytest.mark.slow
def test_the_values_in_force_and_those_they_hide_are_those_of_the_node(node: Node) -> None:
    for case in CASES:
        if case.entity:
            kind, name = case.entity
            entity = ("--entity-name", name) if name else ("--entity-default",)
            set_to = f"{case.config}={case.value}"
            node.configs("--alter", "--entity-type", kind, *entity, "--add-config", set_to)
        of_topic = _told_by_kafka(node, "topics", TOPIC)
        of_broker = _told_by_kafka(node, "brokers", str(BROKER))
        ours = _told_by_us(node, "--topic", TOPIC)
        ours_of_broker = _told_by_us(node, "--broker", str(BROKER))
        for name, told in ours.items():
            theirs = of_topic[name]
            assert told[0][1] == theirs[0][1], name
            if name not in OF_SEVERAL_UNITS or theirs[0][0] != KAFKA:
                assert told[0] == theirs[0], name
            if name not in OF_SEVERAL_UNITS:
                assert told == theirs, name
        assert of_topic.keys() - ours.keys() <= {"internal.segment.bytes"}
        _hold_equal_where_set(ours_of_broker, of_broker)
        topic_config, broker_config = case.about
        hold(
            CONFIGS,
            (case.name,),
            (_cell(topic_config, ours), _cell(broker_config, ours_of_broker)),
        )


_Told = dict[str, list[tuple[str, str]]]
"""By config: the value in force with its source, and those that it hides, in their order."""


def _told_by_kafka(node: Node, kind: str, name: str) -> _Told:
    shown = node.configs("--describe", "--all", "--entity-type", kind, "--entity-name", name)
    found: _Told = {}
    for line in shown.splitlines():
        if (match := _LINE.match(line)) is not None:
            synonyms = re.findall(r"(\w+_CONFIG):([\w.]+)=(.*?)(?=, \w+_CONFIG:|$)", match[3])
            found[match[1]] = [
                (_SOURCES[source], _in_unit_of(match[1], synonym, value))
                for source, synonym, value in synonyms
            ] or [(KAFKA, match[2])]  # a topic's config for which brokers have none
    return found


def _in_unit_of(config: str, synonym: str, value: str) -> str:
    """The value of a synonym in the unit of the config: Kafka prints it in the synonym's."""
    hours = config == "retention.ms" and synonym == "log.retention.hours"
    days = config == "segment.ms" and synonym == "log.roll.hours"
    jitter = config == "segment.jitter.ms" and synonym == "log.roll.jitter.hours"
    scales = (hours or days or jitter) and int(value) > 0
    return str(int(value) * 3_600_000) if scales else value


def _told_by_us(node: Node, *about: str) -> _Told:
    ran = kraftlake(
        "state", "--effective", "--json", *about, "--broker-config", str(node.kafka.properties),
        str(node.kafka.log_dir),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found: _Told = {}
    for row in map(json.loads, ran.stdout.splitlines()):
        if about[0] == "--topic" and row["source"].startswith("broker ") and row["config"] in found:
            found.pop(row["config"])  # the only broker leads: its own value is in force
        hidden = [
            tuple(re.sub(r" \(offset \d+\)$", "", one).split(": ", 1)) for one in row["instead_of"]
        ]
        found[row["config"]] = [(row["source"], row["value"]), *hidden]
    return found


def _hold_equal_where_set(ours: _Told, kafka: _Told) -> None:
    """Of a broker we tell what is set, and not Kafka's defaults."""
    for name, told in ours.items():
        theirs = [
            one for one in kafka.get(name, []) if one[0] != KAFKA and one[0] in _SOURCES.values()
        ]
        if theirs:
            assert told[0] == theirs[0], name


def _cell(config: str, told: _Told) -> str:
    source, value = told[config][0] if config in told else ("not set", "")
    return f"{config} = {value} ({source})"
