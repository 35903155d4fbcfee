"""`kraftlake check --config`: whether a node starts and joins, held to what Kafka was seen to do:
tests/interop/STARTS.md, without Kafka."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.interop.result_page import STARTS, rows
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.startup.answers import answer, cell
from tests.replica.doctor.startup.laid_out import FOLDER, Place
from tests.replica.doctor.startup.made import CASES
from tests.replica.doctor.startup.made_pairs import PAIRS, pair
from tests.replica.doctor.startup.made_security import LOGIN, MODULE
from tests.rights import kraftlake as bound_by_modes

RELEASES = ("3.9", "4.1", "4.4")
KNOWN = {case: said for case, *said in rows(STARTS)}


@pytest.mark.parametrize("case", CASES)
def test_check_says_what_kafka_did(kraftlake: Kraftlake, tmp_path: Path, case: str) -> None:
    place = Place(tmp_path)
    CASES[case](place)
    told = []
    for release in RELEASES:
        words = ("check", "--json", "--config", place.properties, "--release", release)
        rows = _bound(*words) if "not be written" in case else kraftlake(*words).rows
        told.append(cell(*answer(rows, place)))
    assert told == KNOWN[case]


def _bound(*words: str | Path) -> list[dict[str, Any]]:
    """The rows that the command prints if it is bound by the modes of files."""
    return [json.loads(line) for line in bound_by_modes(*words).stdout.splitlines()]


@pytest.mark.parametrize("case", PAIRS)
def test_check_says_of_a_broker_what_kafka_did(
    kraftlake: Kraftlake, tmp_path: Path, case: str
) -> None:
    controller, broker = pair(tmp_path)
    PAIRS[case](controller, broker)
    settings = ("--config", controller.properties, "--config", broker.properties)
    told = []
    for release in RELEASES:
        ended = kraftlake("check", "--json", *settings, "--release", release)
        told.append(cell(*answer(ended.rows, broker)))
    assert told == KNOWN[case]


def test_the_table_has_every_case_and_no_other() -> None:
    assert KNOWN.keys() == CASES.keys() | PAIRS.keys()


def test_copies_are_matched_with_the_settings_beside_them(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path / "made")
    place.folder.mkdir()
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.wrote(place.format(place.data))
    place.format(place.second, directory=1)
    copies = tmp_path / "copies"
    shutil.copytree(place.folder, copies)
    shutil.rmtree(place.data)
    ended = kraftlake("check", "--json", "--config", copies / "server.properties", copies)
    assert [row["start"] for row in ended.rows if row["kind"] == "start"] == ["starts"]
    (member,) = ended.summary["directories"]
    assert member["directory"] == f"{copies}/a/{FOLDER}"


def test_copies_elsewhere_are_matched_by_node_id(kraftlake: Kraftlake, tmp_path: Path) -> None:
    place = Place(tmp_path / "made")
    place.folder.mkdir()
    place.dynamic()
    place.wrote(place.format(tmp_path / "copies" / "one"))
    (tmp_path / "copies" / "two").mkdir()
    place.wrote(place.format(tmp_path / "copies" / "other", node_id=7))
    ended = kraftlake("check", "--config", place.properties, tmp_path / "copies")
    assert "1     controller  starts, never joins" in ended.out
    assert "by the log voters 1" in ended.out


def test_no_secret_of_the_settings_is_shown(kraftlake: Kraftlake, tmp_path: Path) -> None:
    place = Place(tmp_path)
    word = "hunter2"
    more = (
        f"ssl.keystore.password={word}\nssl.keystore.pasword={word}\npassword {word}\n"
        f"ssl.keystore.password={word}{word}\nacme.token={word}\n"
    )
    place.configure(more=more)
    place.format(place.data)
    for arguments in (("--json",), ("-v",)):
        ended = kraftlake("check", *arguments, "--config", place.properties)
        assert word not in ended.out + ended.err
        assert "ssl.keystore.pasword" in ended.out
    place = Place(tmp_path / "sasl")
    place.folder.mkdir()
    CASES["a login module with an option without a value"](place)
    text = place.properties.read_text().replace('"b"', f'"{word}"')
    place.properties.write_text(f"{text}{MODULE}={word} {word}; {word}\n")
    ended = kraftlake("check", "-v", "--config", place.properties)
    assert "sasl-login-wrong" in ended.out
    assert word not in ended.out + ended.err


def test_a_login_module_may_stand_in_the_file_of_the_jvm(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    CASES["SASL without a login module"](place)
    asked = ("check", "--json", "--config", place.properties, "--login-config")
    file = tmp_path / "jaas.conf"
    file.write_text(f"// KafkaServer {{\nKafkaClient {{ {LOGIN} }};\n")
    (start, _) = (
        row for row in kraftlake(*asked, file).rows if row["kind"] in ("start", "election")
    )
    assert start["start"] == "refuses"
    file.write_text(f"controller.KafkaServer {{\n  {LOGIN}\n}};\n")
    (start, _) = (
        row for row in kraftlake(*asked, file).rows if row["kind"] in ("start", "election")
    )
    assert (start["start"], start["obstacles"]) == ("starts", [])


def test_key_stores_of_another_machine_are_not_looked_for(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path / "copies")
    place.folder.mkdir()
    CASES["a key store that is not there"](place)
    ended = kraftlake("check", "--json", "--config", place.properties, place.folder)
    (start,) = (row for row in ended.rows if row["kind"] == "start")
    assert start["start"] == "starts"


def test_a_hostile_file_ends_in_a_verdict(kraftlake: Kraftlake, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.configure(log_dirs="a\\u0000b,\\u001b[2J", node_id="9" * 5000, more="\\u0085k=\n" * 3)
    ended = kraftlake("check", "--config", place.properties)
    assert ended.code == 1
    assert "\x1b" not in ended.out
    many = "".join(f"key.{number}=1\n" for number in range(5000))
    place.configure(more=many)
    assert kraftlake("check", "-q", "--config", place.properties).code == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name directories, or a node's server.properties by --config"),
        (("--config", "none.properties"), "--config none.properties: No such file or directory"),
        (("--config", "."), "--config .: Is a directory"),
        (("--login-config", "x", "."), "--config"),
        (("--release", "4.1", "."), "--config"),
        (("--config", "x", "--release", "5.0"), "--release 5.0: expected one of"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(
    kraftlake: Kraftlake, arguments: tuple[str, ...], told: str
) -> None:
    ended = kraftlake("check", *arguments)
    assert ended.code == 2
    assert told in ended.error


def test_healthy_recorded_nodes_start(kraftlake: Kraftlake, data: Path, tmp_path: Path) -> None:
    nodes = data / "kafka-3.7.2-static/final"
    options: list[object] = []
    named = ",".join(f"{node}@127.0.0.1:{19000 + node}" for node in (1, 2, 3))
    for node in (1, 2, 3):
        own = Place(tmp_path / str(node), 19000 + node)
        own.folder.mkdir()
        listed = nodes / str(node)
        own.configure(node_id=node, controller_quorum_voters=named, log_dirs=listed)
        options += ["--config", own.properties]
    ended = kraftlake("check", *options, "--release", "4.1")
    assert "quorum: elects a leader: 3 of 3 voters start and join; a majority is 2" in ended.out
    assert (ended.code, ended.lines[0][:7]) == (0, "HEALTHY")


def test_fewer_configured_voters_than_the_log_has_are_at_risk(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    CASES["fewer static voters than the log has"](place)
    (verdict, *_) = kraftlake("check", "--json", "--config", place.properties).verdicts
    (fact,) = (one for one in verdict["facts"] if one["rules"] == ["configured-voters-differ"])
    assert fact["level"] == "at-risk"
