"""--pass-over goes on behind records of another product, and says so in every answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobs.cli.asking.sql_delta_rs import named_rows
from pipelines.lake import Lake
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment
from tests.replica.metadata.image.made import TOPIC
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

FIRST = 3674
TYPE_501, TYPE_516, TYPE_99 = b"\x01\xf5\x03\x00\x2a", b"\x01\x84\x04\x01", b"\x01\x63\x00\x00"
PASSED_OVER = "2 records of types 501 and 516"


@pytest.fixture
def node(recorded: Path, tmp_path: Path) -> Path:
    """A log whose last records are two of another product, and a topic behind them."""
    folder = Path(shutil.copytree(recorded / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))
    append(segment(folder, 2722), TYPE_501, TYPE_516)
    append(segment(folder, 2722), metadata("TOPIC_RECORD", name="after", topicId=TOPIC))
    return folder


@pytest.mark.parametrize("types", ["vendors", "501,516", "516, 501", "99,vendors"])
def test_the_state_behind_the_records_is_known(
    kraftlake: Kraftlake, node: Path, types: str
) -> None:
    ended = kraftlake("state", "--pass-over", types, "--entity", "topic", "--json", node)
    assert ended.code == 0
    assert {row["key"]: row["offset"] for row in ended.rows}[TOPIC] == FIRST + 2
    told = f"state: passed over: {PASSED_OVER}, which are taken to change none of Kafka's own state"
    assert told in ended.complaints


@pytest.mark.parametrize("reader", [only_the_scalar_reader, only_the_bulk_reader])
def test_check_judges_the_state_behind_them_and_says_what_it_takes_for_granted(
    kraftlake: Kraftlake, node: Path, monkeypatch: pytest.MonkeyPatch, reader: object
) -> None:
    assert callable(reader)
    reader(monkeypatch)
    before = kraftlake("check", node)
    assert "vendor-record-type" in before.out
    assert "state-not-whole" in before.out
    # no release of kraftlake reads another product's records
    assert "use a kraftlake release" not in before.out
    ended = kraftlake("check", "--pass-over", "vendors", "--json", node)
    rules = {row["rule"]: row for row in ended.rows if row["kind"] == "finding"}
    assert "vendor-record-type" not in rules
    assert "state-not-whole" not in rules
    assert rules["record-passed-over"]["severity"] == "info"
    (verdict,) = (row for row in ended.rows if row["kind"] == "verdict")
    assert PASSED_OVER in [gap["what"] for gap in verdict["not_judged"]]
    assert verdict["end_offset"] == FIRST + 3


def test_a_type_that_is_not_named_still_ends_the_replay(kraftlake: Kraftlake, node: Path) -> None:
    ended = kraftlake("check", "--pass-over", "501", node)
    assert f"the state from offset {FIRST + 1} on is not known" in ended.out
    append(segment(node, 2722), TYPE_99)
    ended = kraftlake("check", "--pass-over", "vendors", node)
    assert f"the state from offset {FIRST + 3} on is not known" in ended.out


@pytest.mark.parametrize(
    "command",
    [
        ("history", "--topic", "after"),
        ("timeline", "--event", "election"),
        ("plan", "--stop-broker", "1"),
        ("state", "--exposure"),
        ("what-happened",),
    ],
)
def test_every_answer_goes_on_and_says_so(
    kraftlake: Kraftlake, node: Path, command: tuple[str, ...]
) -> None:
    ended = kraftlake(*command, "--pass-over", "vendors", node)
    told = [*ended.lines, *ended.complaints]
    assert any(PASSED_OVER in line for line in told)
    assert not any("nothing is known of" in line or "known up to" in line for line in told)


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ("2", "2 is TOPIC_RECORD, which changes Kafka's own state"),
        ("vendors,x", "x: expected numbers of record types, such as 501,516, or vendors for all"),
        ("501,,516", "an empty part: expected numbers of record types"),
        ("40000", "40000: expected numbers of record types"),
        ("-1", "-1: expected numbers of record types"),
    ],
)
def test_what_names_no_unknown_type_is_refused(
    kraftlake: Kraftlake, node: Path, types: str, why: str
) -> None:
    ended = kraftlake("check", f"--pass-over={types}", node)
    assert ended.code == 2
    assert f"--pass-over {types}: {why}" in ended.err


def test_a_lake_is_asked_as_it_was_built(kraftlake: Kraftlake, tmp_path: Path) -> None:
    ended = kraftlake("state", "--lake", tmp_path, "--pass-over", "vendors")
    assert ended.code == 2
    assert "--pass-over" in ended.err


def test_a_lake_that_passes_over_says_what_directories_say(
    kraftlake: Kraftlake, node: Path, tmp_path: Path
) -> None:
    """Its builds remember it: what a later ingest adds is passed over, too."""
    lake = tmp_path / "lake"
    assert kraftlake("ingest", "--lake", lake, node).code in (0, 1)
    assert kraftlake("build", "--lake", lake, "--pass-over", "vendors").code == 0
    _says_what_directories_say(kraftlake, lake, node, "2 records of types 501 and 516")
    append(segment(node, 2722), TYPE_501)
    append(segment(node, 2722), metadata("TOPIC_RECORD", name="later", topicId=TOPIC[::-1]))
    assert kraftlake("ingest", "--lake", lake, node).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    _says_what_directories_say(kraftlake, lake, node, "3 records of types 501 and 516")
    assert "nothing has changed" in kraftlake("build", "--lake", lake).err
    assert kraftlake("build", "--lake", lake, "--pass-over", "none").code == 0
    assert "vendor-record-type" in kraftlake("sql", "--lake", lake, RULES).out
    after = kraftlake("state", "--lake", lake, "--entity", "topic", "--json")
    assert TOPIC not in after.out


RULES = "SELECT rule, count(*) AS n FROM gold.findings GROUP BY rule ORDER BY rule"
OF_VERDICT = ("level", "headline", "next_steps", "not_judged", "facts", "end_offset")


def _says_what_directories_say(
    kraftlake: Kraftlake, lake: Path, node: Path, passed_over: str
) -> None:
    checked = kraftlake("check", "--pass-over", "vendors", "--json", node)
    (expected,) = checked.verdicts
    (row,) = named_rows(Lake(str(lake)), "SELECT * FROM gold.verdicts")
    assert {name: row[name] for name in OF_VERDICT} == {name: expected[name] for name in OF_VERDICT}
    assert passed_over in [gap["what"] for gap in row["not_judged"]]
    told = {(one["rule"], one["message"]) for one in checked.rows if one["kind"] == "finding"}
    newest = (
        "SELECT f.* FROM gold.findings f JOIN bronze.captures c ON c.capture_id = f.capture_id "
        "WHERE c.ingest_seq = (SELECT max(ingest_seq) FROM bronze.captures)"
    )
    found = [*named_rows(Lake(str(lake)), newest)]
    held = {(one["rule"], one["message"]) for one in found}
    of_rule = [{one for one in each if one[0] == "record-passed-over"} for each in (told, held)]
    assert of_rule[0] == of_rule[1]
    assert of_rule[0]
    assert "vendor-record-type" not in {rule for rule, _ in held}
    asked = ("--entity", "topic", "--json")
    told_state, held_state = (
        kraftlake("state", *asked, *source)
        for source in (("--pass-over", "vendors", node), ("--lake", lake))
    )
    assert told_state.rows == held_state.rows
    for command in (("state",), ("history",), ("plan", "--stop-broker", "1")):
        ended = kraftlake(*command, "--lake", lake)
        assert passed_over in ended.out + ended.err, command
