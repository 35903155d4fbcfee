"""`kraftlake plan`: answers, exit codes, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.test_consume import metadata_values
from tests.replica.consumer.quorum import in_thread
from tests.replica.doctor.check.editing import append, batches, metadata, segment, set_value

FINAL = "kafka-4.4.0-dynamic/final"


def test_each_answer_has_an_exit_code(data: Path, kraftlake: Kraftlake) -> None:
    source = data / FINAL
    assert kraftlake("plan", "--upgrade", "4.4", source).code == 0
    assert kraftlake("plan", "--upgrade", "4.3", source).code == 1
    assert kraftlake("plan", "--add-voter", "9", source).code == 3
    assert kraftlake("plan", "--add-voter", "9", "--upgrade", "4.3", source).code == 1


def test_a_script_does_not_go_on_by_an_answer_whose_needs_nobody_has_checked(
    data: Path, kraftlake: Kraftlake
) -> None:
    """It stops at every exit code but 0; --needs-checked says that somebody has checked them. A
    wait ends all the same: no later copy shows what the needs name."""
    source, change = data / FINAL, ("--remove-voter", "3")
    asked = kraftlake("plan", "--while", "0.1", *change, source)
    assert asked.code == 4
    assert "SAFE, if its needs hold: remove voter 3" in asked.lines
    assert kraftlake("plan", "--needs-checked", *change, source).code == 0
    assert kraftlake("plan", *change, "--upgrade", "4.4", source).code == 4
    assert kraftlake("plan", "--needs-checked", *change, "--upgrade", "4.3", source).code == 1


def test_the_answer_says_as_of_which_moment_it_is_on_stdout(
    data: Path, kraftlake: Kraftlake
) -> None:
    """A person who reads stdout alone, or a file of it, has to know how old the state is."""
    ended = kraftlake("plan", "--upgrade", "4.4", data / FINAL)
    verdict, said, as_of, cluster, empty, answer, *_ = ended.lines
    assert verdict.startswith("HEALTHY ")
    assert said == (
        "plan        NOTHING TO DO: raise metadata.version to 4.4-IV2: metadata.version is at "
        "that level already."
    )
    assert as_of == "as of       2026-11-23 05:24:29 UTC, offset 2664 of node 1"
    assert cluster == "cluster     OLR1FFlQQCyXLM2zfhjyAg"
    assert (empty, answer) == ("", "NOTHING TO DO: raise metadata.version to 4.4-IV2")
    assert ended.err == ""


def test_json_has_a_line_for_each_change(data: Path, kraftlake: Kraftlake) -> None:
    rows = kraftlake("plan", "--json", "--stop-broker", "11", "--to-dynamic", data / FINAL).answers
    assert [row["answer"] for row in rows] == ["unsafe", "nothing-to-do"]
    assert rows[0]["end_offset"] == 2665
    counted, first, *rest = rows[0]["reasons"]
    assert len(rest) == 499
    assert counted["detail"] == "500 of 624 partitions would lose their leader"
    assert first["offset"] == 2297


def test_brokers_that_are_named_by_several_options_stop_together(
    data: Path, kraftlake: Kraftlake
) -> None:
    together = kraftlake("plan", "--json", "--stop-broker", "11,12", data / FINAL).answers
    for first, second in (("12", "11"), ("11", "12")):
        change = ("--stop-broker", first, "--stop-broker", second)
        ended = kraftlake("plan", "--json", *change, data / FINAL)
        assert (ended.code, ended.answers) == (1, together)


def test_records_that_too_few_directories_prove_committed_are_a_condition(
    data: Path, kraftlake: Kraftlake
) -> None:
    (row,) = kraftlake("plan", "--json", "--to-dynamic", data / FINAL / "1").answers
    assert (row["answer"], row["is_conditional"]) == ("nothing-to-do", True)
    unseen, need = row["needs"]
    assert unseen.startswith("voters 2 and 3 have to hold nothing newer: their logs were not given")
    assert need.startswith("the changes from offset 2149 on have to be committed")
    (row,) = kraftlake("plan", "--json", "--to-dynamic", data / FINAL).answers
    assert row["needs"] == []


def test_nothing_is_safe_by_records_that_one_voter_alone_holds(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    change = ("--json", "--to-dynamic", tmp_path)
    assert kraftlake("plan", *change).code == 0
    log = segment(tmp_path / "3", 2722)
    append(log, metadata("NO_OP_RECORD"))
    assert kraftlake("plan", *change).code == 0, "it changes nothing"
    append(log, metadata("TOPIC_RECORD", name="ghost", topicId="A" * 21 + "Q"))
    ended = kraftlake("plan", *change)
    assert ended.code == 3
    (reason,) = (one for one in ended.answers[0]["reasons"] if one["answer"] == "unknown")
    assert "are on 1 of 3 voters (3): they were not committed" in reason["detail"]


def test_nothing_is_safe_where_logs_conflict(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    path = segment(tmp_path / "2", 2722)
    set_value(path, batches(path)[-1], lambda value: value[:-1] + b"\x01")
    ended = kraftlake("plan", "--to-dynamic", tmp_path)
    assert ended.code == 3
    assert "a person has to choose one. Start no node" in ended.out
    assert "Not judged: there are two histories" in kraftlake("state", "--exposure", tmp_path).out


def test_a_lake_answers_as_the_directories_do(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    kraftlake("ingest", "--build", "--lake", lake, data / FINAL)
    change = ("--stop-broker", "12", "--remove-voter", "3")
    of_lake = kraftlake("plan", "--json", *change, "--lake", lake)
    of_directories = kraftlake("plan", "--json", *change, data / FINAL)
    assert of_lake.answers == of_directories.answers


def test_a_node_that_does_not_start_again_is_not_stopped_and_no_majority_counts_it(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """metadata.log.dir of node 1 was changed: both of its log directories have a metadata log."""
    nodes = tmp_path / "nodes"
    for node in ("1", "2", "3"):
        shutil.copytree(data / FINAL / node, nodes / node / "new")
    shutil.copytree(data / "kafka-4.4.0-dynamic/live/1", nodes / "1/old")
    meta = nodes / "1/old/meta.properties"
    own = re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ", meta.read_text())
    meta.write_text(own)
    stop = kraftlake("plan", "--json", "--stop-broker", "1", nodes)
    (own_stop,) = stop.answers
    assert (stop.code, own_stop["answer"]) == (1, "unsafe")
    (reason,) = (one for one in own_stop["reasons"] if one["subject"] == "node 1")
    assert "refuses to start again" in reason["detail"]
    assert "metadata-log-twice" in reason["detail"]
    other = kraftlake("plan", "--json", "--stop-broker", "2", nodes)
    assert (other.code, other.answers[0]["answer"]) == (3, "unknown")
    assert "voter 1 can't be counted" in other.answers[0]["reasons"][0]["detail"]
    assert not any(need.startswith("node 1") for need in other.answers[0]["needs"])


def test_a_lake_of_one_node_names_what_it_cannot_prove_to_be_committed(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    kraftlake("ingest", "--build", "--lake", lake, data / FINAL / "1")
    (row,) = kraftlake("plan", "--json", "--to-dynamic", "--lake", lake).answers
    unseen, need = row["needs"]
    assert unseen.startswith("voters 2 and 3 have to hold nothing newer: their logs were not given")
    assert "have to be committed, which the logs at hand don't prove" in need
    (row,) = kraftlake("plan", "--json", "--to-dynamic", "--committed-only", "--lake", lake).answers
    assert row["needs"] == []


def test_a_state_that_lacks_a_record_is_never_safe(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """generated-all-types has records that no state before them allows."""
    source, lake = data / "generated-all-types", tmp_path / "lake"
    named = ("--as", "AAAAAAAAAAAAAAAAAAAAAA:1")
    assert kraftlake("ingest", "--build", "--lake", lake, *named, source).code == 0
    for place in ((source,), ("--lake", lake)):
        ended = kraftlake("plan", "--json", "--stop-broker", "1", *place)
        assert ended.code != 0, ended.out
        (row,) = ended.answers
        told = [reason["detail"] for reason in row["reasons"] if reason["subject"] == "state"]
        assert any("lacks the record at offset 2, which can't be applied" in one for one in told)


def test_a_reassignment_is_read_from_kafkas_file(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    path = tmp_path / "moves.json"
    one = {"topic": "k0-310-3", "partition": 0, "replicas": [11, 99]}
    path.write_text(json.dumps({"version": 1, "partitions": [one]}))
    ended = kraftlake("plan", "--reassignment", path, data / FINAL)
    assert ended.code == 1
    assert "brokers [99] are not registered" in ended.out
    path.write_text("{")
    assert str(path) in kraftlake("plan", "--reassignment", path, data / FINAL).error
    assert "No such file" in kraftlake("plan", "--reassignment", "gone", data / FINAL).error


@pytest.fixture(scope="module")
def quorum(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Bootstrap of a quorum with one voter, and the folder of its log."""
    folder = tmp_path_factory.mktemp("metadata")
    with in_thread(folder, metadata_values(data), voters=1, topic_id=None) as bootstrap:
        yield bootstrap, folder / "1" / "log"


def test_a_running_quorum_answers_as_its_directory_does(
    quorum: tuple[str, Path], kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    change = ("--remove-voter", "1", "--add-voter", "2")
    live = kraftlake("plan", "--json", *change, "-b", quorum[0])
    assert live.code == 1, live.err
    assert live.answers == kraftlake("plan", "--json", *change, quorum[1]).answers
    assert [row["action"] for row in live.answers] == ["remove voter 1", "add voter 2"]
    assert {row["end_offset"] for row in live.answers} == {4}
    assert not list(tmp_path.iterdir())


def test_a_running_quorum_tells_what_an_older_release_can_t_read(
    quorum: tuple[str, Path], kraftlake: Kraftlake
) -> None:
    """By its log alone: the nodes may have newer snapshots, and their other files are theirs."""
    asked = ("plan", "--json", "--downgrade-binaries")
    (live,) = kraftlake(*asked, "3.7", "-b", quorum[0]).answers
    (told,) = kraftlake(*asked, "3.7", quorum[1]).answers
    in_log = [one["subject"] for one in told["reasons"] if one["offset"] is not None]
    assert [one["subject"] for one in live["reasons"]] == in_log
    (need,) = live["needs"]
    assert need.startswith("the snapshots, quorum-state and bootstrap.checkpoint of each node")


def test_a_quorum_that_does_not_answer_is_given_up_in_time(kraftlake: Kraftlake) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"127.0.0.1:{server.getsockname()[1]}"
        ended = kraftlake("plan", "--to-dynamic", "-b", silent, "--timeout", "1")
    assert ended.code == 1
    assert ended.error.startswith(
        f"-b {silent}: the log could not be read to its high watermark within 1 s (--timeout)"
    )


def test_two_captures_of_one_node_are_refused_with_what_plan_can_be_told(
    data: Path, kraftlake: Kraftlake
) -> None:
    ended = kraftlake("plan", "--to-dynamic", data / "kafka-4.4.0-dynamic")
    assert ended.code == 2
    assert ended.error.endswith("(node 1): name only what is left now, or give --order")


_ONE = '{"version":1,"partitions":[{"topic":%s,"partition":%s,"replicas":%s}]}'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[" * 200_000, "no JSON that can be read"),
        (_ONE % ('"t"', "9" * 5000, "[1]"), "no JSON that can be read"),
        (_ONE % ('"t"', "1e999", "[1]"), "expected a whole number"),
        (_ONE % (r'"\ud800"', "0", "[1]"), "expected the name of a topic"),
        (_ONE % (r'"\u001b[2J"', "0", "[1]"), "expected the name of a topic"),
        (_ONE % ('"t"', "0", [1] * 40_000), "partitions have 32767 at most"),
    ],
    ids=["nested", "digits", "float", "half-a-character", "escape", "replicas"],
)
def test_a_hostile_reassignment_is_refused_in_a_line(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, text: str, complaint: str
) -> None:
    path = tmp_path / "moves.json"
    path.write_text(text)
    ended = kraftlake("plan", "--reassignment", path, data / FINAL)
    assert ended.code == 2
    assert complaint in ended.error


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "name a change"),
        (("--stop-broker", "1,x"), "expected broker ids"),
        (("--stop-rack", ""), "expected the name of a rack"),
        (("--upgrade", "2.8"), "expected one of 3.7"),
        (("--at-offset", "3", "--to-dynamic"), "--at-offset goes with --lake"),
        (("-b", "localhost:9093", "--to-dynamic"), "PATH and --bootstrap exclude each other"),
        (("--timeout", "3", "--to-dynamic"), "--timeout goes with --bootstrap"),
    ],
)
def test_wrong_options_of_plan_are_refused(
    data: Path, kraftlake: Kraftlake, options: tuple[str, ...], complaint: str
) -> None:
    ended = kraftlake("plan", *options, data / FINAL)
    assert ended.code == 2
    assert complaint in ended.error


def test_what_a_broker_has_to_hand_over_and_why_a_rolling_restart_has_no_order(
    data: Path, kraftlake: Kraftlake
) -> None:
    change = ("--decommission", "12", "--roll", "--limit", "2", data / FINAL)
    ended = kraftlake("plan", *change)
    assert ended.code == 1
    assert "broker 12: has replicas of 124 of 624 partitions (9 topics)" in ended.out
    assert "  order " not in ended.out, "nodes 11 and 12 can't be in it"
    rows = kraftlake("plan", "--json", *change).answers
    assert [(row["answer"], row["order"]) for row in rows] == [
        ("unsafe", []),
        ("unsafe", []),
    ]


@pytest.mark.parametrize("value", ["a", "1,", "-1"])
def test_a_list_of_ids_that_is_none_names_its_option(
    data: Path, kraftlake: Kraftlake, value: str
) -> None:
    ended = kraftlake("plan", f"--decommission={value}", data / FINAL)
    assert ended.code == 2
    assert f"--decommission {value}: expected broker ids with commas between" in ended.err
