"""state --effective says which value of a config is in force, what set it and since when; history
tells the changes of brokers' configs that change a topic's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment

TOPIC, BROKER = 2, 4
END = 3674


@pytest.fixture
def node(recorded: Path, tmp_path: Path) -> Path:
    """A log that ends with three configs: segment.ms of all brokers, of broker 11, of a topic."""
    folder = Path(shutil.copytree(recorded / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))
    for kind, resource, name, value in (
        (BROKER, "", "log.roll.hours", "2"),
        (BROKER, "11", "log.roll.ms", "9"),
        (TOPIC, "k0-70-30", "segment.ms", "5"),
    ):
        config = {"resourceType": kind, "resourceName": resource, "name": name, "value": value}
        append(segment(folder, 2722), metadata("CONFIG_RECORD", **config))
    return folder


def _rows(kraftlake: Kraftlake, *arguments: object) -> dict[tuple[str, str], dict[str, object]]:
    ended = kraftlake("state", "--effective", "--json", *arguments)
    assert ended.code == 0, ended.err
    return {(row["config"], row["source"]): row for row in ended.rows}


def test_a_topic_s_own_value_hides_that_of_the_brokers(kraftlake: Kraftlake, node: Path) -> None:
    rows = _rows(kraftlake, "--topic", "k0-70-30", node)
    row = rows["segment.ms", "topic k0-70-30"]
    assert (row["value"], row["offset"]) == ("5", END + 2)
    assert row["instead_of"][0] == f"all brokers: 7200000 (offset {END})"
    assert isinstance(row["since"], int)


def test_a_topic_without_one_has_that_of_each_broker(kraftlake: Kraftlake, node: Path) -> None:
    rows = _rows(kraftlake, "--topic", "k1-71-1", node)
    assert rows["segment.ms", "all brokers"]["value"] == "7200000"
    assert rows["segment.ms", "broker 11"]["value"] == "9"
    assert rows["flush.messages", "Kafka's default"]["value"] == str(2**63 - 1)


def test_a_broker_s_file_stands_behind_the_log(
    kraftlake: Kraftlake, node: Path, tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.roll.ms=1\nssl.key.password=hunter2\nnum.io.threads = 3\n")
    rows = _rows(kraftlake, "--broker", "11", "--broker-config", file, node)
    assert rows["log.roll.ms", "broker 11"]["instead_of"] == [
        f"all brokers: 2 (offset {END})",
        "server.properties: 1",
    ]
    assert rows["num.io.threads", "server.properties"]["value"] == "3"
    assert "hunter2" not in str(rows)


def test_what_somebody_set_comes_first(kraftlake: Kraftlake, node: Path) -> None:
    ended = kraftlake("state", "--effective", "--topic", "k0-70-30", node)
    is_default = ["  Kafka's default  " in line for line in ended.lines[2:]]
    assert is_default == sorted(is_default)
    assert {False, True} <= {*is_default}
    assert any("--broker-config FILE adds it" in line for line in ended.complaints)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "--effective: name one with --topic, --broker or --group"),
        (("--topic", "k0-70-30", "--broker", "11"), "--topic and --broker exclude each other"),
        (("--topic", "k0-7O-30"), "--topic k0-7O-30: no topic of that name; did you mean"),
        (("--broker", "99"), "--broker 99: no broker of that name"),
        (("--broker", "11", "--sizes"), "--effective and --sizes exclude each other"),
    ],
)
def test_a_question_that_has_no_answer_is_refused(
    kraftlake: Kraftlake, node: Path, arguments: tuple[str, ...], why: str
) -> None:
    ended = kraftlake("state", "--effective", *arguments, node)
    assert ended.code == 2
    assert why in ended.err


def test_broker_without_effective_is_refused(kraftlake: Kraftlake, node: Path) -> None:
    ended = kraftlake("state", "--broker", "11", node)
    assert (ended.code, "--broker goes with --effective" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "offsets"),
    [
        (("--topic", "k0-70-30", "--config", "segment.ms"), [END, END + 1, END + 2]),
        (("--topic", "k1-71-1", "--config", "segment.ms"), [END, END + 1]),
        (("--topic", "k1-71-1", "--config", "preallocate"), []),
    ],
)
def test_a_topic_s_history_has_the_changes_of_what_stands_in_for_its_configs(
    kraftlake: Kraftlake, node: Path, arguments: tuple[str, ...], offsets: list[int]
) -> None:
    ended = kraftlake("history", "--json", *arguments, node)
    assert [row["offset"] for row in ended.rows] == offsets
