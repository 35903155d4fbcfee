"""check, what-happened, recover, plan and rehearse begin with one verdict, in the same words."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from jobs.cli.directories.verdict_text import ON_PAGE, describe_verdict, verdict_in_short
from replica.doctor.verdict.verdict import Fact, Level, decide
from replica.severity import Severity
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import format_only

COMMANDS = (
    ("what-happened",),
    ("recover", "--plan"),
    ("plan", "--stop-broker", "11"),
    ("rehearse", "--seeds", "0:1"),
    ("state", "--exposure"),
)
MOST_LINES = {"plan": 8, "recover": 8, "what-happened": 16}
"""Of the verdict; what-happened has the story of the incident in it."""
SPLIT, STATIC = "kafka-4.1.1-dynamic/split", "kafka-3.7.2-static/live"
PLAYED = ("endless-elections", "lost-disks")


@pytest.fixture(scope="module", params=[SPLIT, *PLAYED, "without a voter"])
def capture(
    request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The nodes of one cluster."""
    name, folder = request.param, tmp_path_factory.mktemp("capture") / "nodes"
    if name == SPLIT:
        return data / name
    if name in PLAYED:
        write_capture(SCENARIOS_BY_NAME[name].capture(), str(folder))
    else:
        for node in ("1", "11"):
            shutil.copytree(data / STATIC / node, folder / node)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_begins_with_the_verdict_of_check(
    kraftlake: Kraftlake, capture: Path, command: tuple[str, ...]
) -> None:
    (expected,) = kraftlake("check", "--json", capture).verdicts
    told = kraftlake(*command, "--json", capture)
    if told.code == 2:
        pytest.skip(f"{command[0]} refuses this capture: {told.error}")
    assert told.rows[0] == expected
    line = kraftlake("check", "-q", capture).out
    text = kraftlake(*command, capture)
    assert text.lines[0] == line.rstrip("\n")
    assert 1 <= text.lines.index("") <= MOST_LINES.get(command[0], 10)
    if expected["end_offset"] is not None and command[0] not in ("what-happened", "recover"):
        assert any(line.startswith("as of ") for line in text.lines[:9])
    if expected["next_steps"] and expected["facts"]:
        assert any(expected["next_steps"][0] in line for line in text.lines[:10]) or (
            command[0] == "recover"  # which says "the plan" for itself
        )


def test_what_was_never_started_is_in_the_verdict_of_each(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / STATIC, tmp_path / "nodes")
    format_only(tmp_path / "nodes/4", 4, "SeqmQktRQ9eNfuKic4TCIg")
    (expected,) = kraftlake("check", "--json", tmp_path / "nodes").verdicts
    rules = [rule for fact in expected["facts"] for rule in fact["rules"]]
    assert "formatted-for-another-cluster" in rules
    left_out = f"{tmp_path}/nodes/4: left out: formatted for node 4, and no metadata log"
    for command in COMMANDS:
        told = kraftlake(*command, "--json", tmp_path / "nodes")
        assert told.rows[0] == expected
        assert told.complaints.count(left_out) == 1, command


def test_a_bundle_that_cannot_be_read_is_in_the_verdict_of_each(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / STATIC, tmp_path / "nodes")
    archive = Path(shutil.make_archive(str(tmp_path / "4"), "gztar", data / STATIC / "1"))
    archive.write_bytes(archive.read_bytes()[:40])
    paths = (tmp_path / "nodes", archive)
    (expected,) = kraftlake("check", "--json", *paths).verdicts
    assert "bundle" in {rule for fact in expected["facts"] for rule in fact["rules"]}
    for command in COMMANDS:
        told = kraftlake(*command, "--json", *paths)
        assert told.rows[0] == expected
        assert [line for line in told.complaints if str(archive) in line], command


def test_what_weighs_most_besides_the_headline_is_the_second_line(
    kraftlake: Kraftlake, data: Path
) -> None:
    told = kraftlake("plan", "--stop-broker", "12", data / SPLIT)
    assert told.lines[0].startswith("OUTAGE ")
    assert told.lines[1].startswith("plan ")
    assert told.lines[2].startswith("also ")
    alone = kraftlake("plan", "--stop-broker", "12", data / "kafka-4.1.1-dynamic/live/1")
    assert alone.lines[0].startswith("INCOMPLETE ")
    assert alone.lines[1].startswith("plan ")
    assert alone.lines[2].startswith("as of ")


def test_a_header_hides_no_outage_and_not_what_weighs_most_of_the_rest() -> None:
    down = [Fact(Level.OUTAGE, Severity.ERROR, f"Outage {one}.", f"Mend {one}.") for one in "abc"]
    risk = Fact(Level.AT_RISK, Severity.WARNING, "A disk is old.", "Keep it stopped.")
    less = [Fact(Level.ATTENTION, Severity.WARNING, f"Warning {one}.") for one in "abc"]
    told = decide("c", [*less, risk, *down], (), well="")
    assert [*verdict_in_short(told)] == [
        "OUTAGE      Outage a.",
        "first       A disk is old. Keep it stopped.",
        "also        Outage b.",
        "also        Outage c.",
        "also        Warning a.",
        "            and 2 more: `kraftlake check` lists them",
        "next        Mend a.",
    ]
    on_page = [*describe_verdict(told, form=ON_PAGE)]
    assert "first       A disk is old. Keep it stopped." in on_page, "one shape in each text"
    lines = [*describe_verdict(told)]
    facts = (*down, risk, less[0])
    assert all(any(fact.text in line for line in lines) for fact in facts)
    assert "            and 2 more, listed below" in lines


@pytest.mark.parametrize("others", range(6))
@pytest.mark.parametrize("outages", [1, 2, 3])
def test_no_line_counts_a_single_one_that_it_could_be_itself(outages: int, others: int) -> None:
    down = [Fact(Level.OUTAGE, Severity.ERROR, f"Outage {n}.") for n in range(outages)]
    less = [Fact(Level.ATTENTION, Severity.WARNING, f"Warning {n}.") for n in range(others)]
    told = decide("c", [*down, *less], (), well="")
    for lines in ([*verdict_in_short(told)], [*describe_verdict(told)]):
        text = "\n".join(lines)
        assert "and 1 more" not in text
        (left,) = {int(word) for word in re.findall(r"and (\d+) more", text)} or {0}
        assert sum(fact.text in text for fact in told.facts) == len(told.facts) - left


def test_no_plan_below_an_outage_is_called_safe(kraftlake: Kraftlake, data: Path) -> None:
    told = kraftlake("recover", "--plan", "--rehearse", "--seeds", "0:1", data / SPLIT)
    assert told.lines[0].startswith("OUTAGE ")
    assert ": no committed record of the metadata log is lost" in told.answer_lines[0]
    assert "1 run: each elects a leader, and loses nothing committed" in told.out
    assert "safe" not in told.out.replace(str(data), "")


def test_each_cluster_has_its_verdict_above_its_plan(kraftlake: Kraftlake, data: Path) -> None:
    paths = (data / SPLIT / "1", data / STATIC)
    rows = kraftlake("recover", "--plan", "--json", *paths).rows
    clusters = [(row["kind"], row["cluster_id"]) for row in rows]
    for kind, cluster_id in clusters:
        first = clusters.index(("verdict", cluster_id))
        assert kind == "verdict" or first < clusters.index((kind, cluster_id))
    assert [kind for kind, _ in clusters].count("verdict") == 2


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_the_verdict_stands_above_what_could_not_be_read(
    kraftlake: Kraftlake,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    """On a terminal both streams are one."""
    shutil.copytree(data / STATIC, tmp_path / "nodes")
    format_only(tmp_path / "nodes/4", 4, "SeqmQktRQ9eNfuKic4TCIg")
    log = next((tmp_path / "nodes/2/__cluster_metadata-0").glob("*.log"))
    log.write_bytes(b"\xff" * 100 + log.read_bytes()[100:])
    for index in log.parent.glob("*.index"):
        index.write_bytes(b"\xff" * 5)
    line = kraftlake("check", "-q", tmp_path / "nodes").out.rstrip("\n")
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    lines = kraftlake(*command, tmp_path / "nodes").out.splitlines()
    assert lines[0] == line
    assert [text for text in lines if text.startswith(f"{tmp_path}/nodes/4: left out")]
    damaged = [number for number, text in enumerate(lines) if text.startswith(str(log))]
    assert damaged or command[0] in ("plan", "state"), "check alone judges files for these"
    assert all(number > lines.index("") for number in damaged)


def test_many_damaged_places_are_counted_in_text_and_all_there_in_json(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / STATIC, tmp_path / "nodes")
    folder = tmp_path / "nodes/2/__cluster_metadata-0"
    for number in range(5):
        (folder / f"{number + 10**9:020}-0000000001.checkpoint").write_bytes(b"\xff" * 70)
    nodes = tmp_path / "nodes"
    for command in (
        ("recover", "--plan", nodes),
        ("timeline", nodes),
        ("what-happened", nodes),
        ("diff", nodes / "1", nodes / "2"),
    ):
        text = kraftlake(*command).complaints
        told = [one for one in text if "byte " in one]
        every = kraftlake(*command, "--json").complaints
        assert len(told) == 3, command
        assert len([one for one in every if "byte " in one]) == 5, command
        (counted,) = (one for one in text if "more damaged place" in one)
        assert counted == f"{folder}: 2 more damaged places: `kraftlake check --json` lists all"
