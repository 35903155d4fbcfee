"""`kraftlake check` of a quorum that never had a leader: how its nodes were formatted, who may
lead, and what would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.format.meta_properties import FILE_NAME
from replica.message.schema import Value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.first_start import format_only, start
from tests.replica.doctor.startup.laid_out import Place
from tests.secret_log import batch, level

SALT = b"salt-of-admin"


def scram(user: str) -> bytes:
    """A credential as kafka-storage format --add-scram writes it."""
    fields: dict[str, Value] = {
        "name": user,
        "mechanism": 1,
        "salt": SALT,
        "storedKey": b"stored",
        "serverKey": b"server",
        "iterations": 4096,
    }
    return encode(new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, fields))


def formatted(ended: Ended) -> list[tuple[int, str, list[int], int | None]]:
    return [
        (row["node_id"], row["formatting"], row["voters"], row["epoch"])
        for row in ended.rows
        if row["kind"] == "formatted"
    ]


def rules(ended: Ended) -> set[str]:
    return {row["rule"] for row in ended.rows if row["kind"] == "finding"}


def test_static_voters_that_never_had_a_leader(kraftlake: Kraftlake, tmp_path: Path) -> None:
    nodes = [start(tmp_path / str(node), node) for node in (1, 2, 3)]
    ended = kraftlake("check", "--json", *nodes)
    assert formatted(ended) == [(node, "static", [1, 2, 3], 0) for node in (1, 2, 3)]
    assert rules(ended) == set()
    text = kraftlake("check", *nodes).out
    assert "voters 1, 2 and 3 may lead once 2 of them run" in text
    assert "voters 1, 2 and 3 may lead" not in kraftlake("check", "-q", *nodes).out
    for command in ("check", "what-happened"):
        assert "runbook     never-came-up: " in kraftlake(command, *nodes).out


def test_settings_name_the_voters_of_nodes_that_never_started(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.configure()
    place.format(place.data)
    assert "nobody may lead unless" in kraftlake("check", place.data).out
    out = kraftlake("check", "--config", place.properties).out
    assert "voter 1 may lead once it runs" in out
    assert "nobody may lead" not in out


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_nodes_that_all_were_formatted_without_voters(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    nodes = [start(tmp_path / str(node), node, voters=()) for node in (1, 2)]
    out = kraftlake(command, *nodes).out
    assert out.startswith("ATTENTION   Node 1: No leader was ever elected, and no directory names")
    assert "same --initial-controllers, or one with --standalone" in out


def test_how_a_node_was_formatted_is_told_by_its_first_snapshot(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.stand_alone(place.format(tmp_path / "alone"))
    ended = kraftlake("check", "--json", tmp_path / "alone")
    assert formatted(ended) == [(1, "standalone", [1], None)]
    for number in (1, 2):
        folder = tmp_path / "three" / str(number)
        place.stand_alone(place.format(folder, number, directory=number - 1), voters=(1, 2, 3))
    text = kraftlake("check", tmp_path / "three").out
    assert "voters 1, 2 and 3 may lead once 2 of them run; not given: node 3" in text
    format_only(tmp_path / "three" / "4", 4)
    ended = kraftlake("check", "--json", tmp_path / "three")
    assert formatted(ended)[-1] == (4, "no-voters", [], None)


def test_scram_on_one_node_only_is_lost_with_the_first_leader(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    nodes = [start(tmp_path / str(node), node) for node in (1, 2, 3)]
    for node, values in zip(nodes, ([scram("admin")], [], []), strict=True):
        (node / "bootstrap.checkpoint").write_bytes(batch(0, [level(21), *values], 0))
    ended = kraftlake("check", "--json", *nodes)
    found = [row for row in ended.findings if row["rule"] == "bootstrap-records-differ"]
    assert [row["message"] for row in found] == [
        f"node {node} lacks SCRAM-SHA-256 of admin; node 1 has it" for node in (2, 3)
    ]
    assert SALT.decode() not in ended.out
    (nodes[1] / "bootstrap.checkpoint").write_bytes(
        (nodes[0] / "bootstrap.checkpoint").read_bytes()
    )
    (nodes[2] / "bootstrap.checkpoint").write_bytes(
        (nodes[0] / "bootstrap.checkpoint").read_bytes()
    )
    assert rules(kraftlake("check", "--json", *nodes)) == set()


def test_all_log_directories_of_a_node_are_one_row(kraftlake: Kraftlake, tmp_path: Path) -> None:
    start(tmp_path / "1" / "a", 1)
    meta = (tmp_path / "1" / "a" / FILE_NAME).read_text()
    (tmp_path / "1" / "b").mkdir()
    (tmp_path / "1" / "b" / FILE_NAME).write_text(meta.replace("DRDZqbSEv8", "DRDZqbSEv9"))
    (row,) = (
        row for row in kraftlake("check", "--json", tmp_path).rows if row["kind"] == "formatted"
    )
    assert row["directories"] == [f"{tmp_path}/1/a", f"{tmp_path}/1/b"]


def test_a_quorum_that_had_a_leader_has_no_such_rows(kraftlake: Kraftlake, data: Path) -> None:
    node = data / "kafka-4.1.1-dynamic/final/1"
    ended = kraftlake("check", "--json", node)
    assert formatted(ended) == []
    assert not rules(ended) & {"formatted-without-voters", "bootstrap-records-differ"}
