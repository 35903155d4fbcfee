"""A verdict names the runbook that says more, and every installation can print it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.cli.asking import preflight
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.rule import Rule
from replica.doctor.verdict.runbooks import RUNBOOKS, runbook_of
from replica.severity import Severity
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake

FOLDER = Path(__file__).parents[2] / "docs" / "how-to" / "runbooks"
PAGES = {page.stem for page in FOLDER.iterdir()} - {"README"}
OF_COMMANDS = {
    "what-happened": "what-happened-when", "rehearse": "rehearse-a-start",
    "state": "config-in-force", "restore": "all-controllers-gone", "redact": "log-to-share",
    "plan": "before-you-change",
}  # fmt: skip
"""The runbooks about no rule and no change: each is about a command, whose --help names it."""
COMMANDS = (
    ("check",),
    ("what-happened",),
    ("recover", "--plan"),
    ("rehearse", "--seeds", "0:1", "--failures", "0"),
)
PLAYED = {
    "restored-voter": "disk-that-forgot",
    "two-quorums": "two-quorums",
    "endless-elections": "endless-elections",
}


def test_each_runbook_that_is_named_exists() -> None:
    assert {*RUNBOOKS, *preflight.RUNBOOKS, *OF_COMMANDS.values()} <= PAGES


def test_each_runbook_is_about_a_rule_a_change_a_command_or_an_alert() -> None:
    assert {*RUNBOOKS, *preflight.RUNBOOKS, *OF_COMMANDS.values(), "alerts"} == PAGES


def test_a_rule_has_one_runbook_and_the_table_names_rules_of_check() -> None:
    ids = [rule.id for rules in RUNBOOKS.values() for rule in rules]
    assert len(ids) == len(set(ids))
    assert set(ids) <= set(RULES_BY_ID)


@pytest.mark.parametrize(("runbook", "rules"), RUNBOOKS.items())
def test_a_runbook_names_the_findings_that_lead_to_it(
    runbook: str, rules: tuple[Rule, ...]
) -> None:
    page = (FOLDER / f"{runbook}.md").read_text()
    assert [rule.id for rule in rules if f"`{rule.id}`" not in page] == []


@pytest.mark.parametrize(("command", "runbook"), OF_COMMANDS.items())
def test_the_help_of_a_command_names_its_runbook(
    kraftlake: Kraftlake, command: str, runbook: str
) -> None:
    told = " ".join(kraftlake(command, "--help").out.split())
    assert f"kraftlake explain --runbook {runbook}" in told


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_rule_that_warns_and_that_a_runbook_tells_of_has_a_runbook(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("<details")[0]
    rules = {RULES_BY_ID[word] for word in re.findall(r"`([a-z-]+)`", text) if word in RULES_BY_ID}
    told = {rule.id for rule in rules if rule.severity is not Severity.INFO}
    assert told <= {rule.id for about in RUNBOOKS.values() for rule in about}


def test_the_cause_has_its_runbook_before_what_follows_from_it() -> None:
    assert runbook_of(["log-divergence"]) == "two-histories"
    assert runbook_of(["log-divergence", "committed-data-at-risk"]) == "disk-that-forgot"
    both = ["committed-data-at-risk", "voter-sets-differ", "conflict"]
    assert runbook_of(both) == "two-quorums"
    assert runbook_of(["torn-tail"]) is None


@pytest.fixture(scope="module", params=PLAYED)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The nodes of an incident, and its runbook."""
    folder = tmp_path_factory.mktemp("played") / "nodes"
    write_capture(SCENARIOS_BY_NAME[request.param].capture(), str(folder))
    return folder, PLAYED[request.param]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_names_the_runbook_below_the_verdict(
    kraftlake: Kraftlake, played: tuple[Path, str], command: tuple[str, ...]
) -> None:
    folder, runbook = played
    lines = kraftlake(*command, folder).lines
    shown = f"runbook     {runbook}: `kraftlake explain --runbook {runbook}` prints it"
    assert lines.count(shown) == 1
    assert lines.index(shown) < 10
    assert kraftlake(*command, "--json", folder).rows[0]["runbook"] == runbook


def test_where_no_runbook_is_about_the_verdict_none_is_named(
    kraftlake: Kraftlake, data: Path
) -> None:
    folder = data / "kafka-4.4.0-dynamic" / "final"
    assert "runbook" not in kraftlake("check", folder).out
    assert kraftlake("check", "--json", folder).rows[0]["runbook"] is None


CHANGES = {
    ("--stop-broker", "11"): "stop-a-broker", ("--stop-rack", "a"): "stop-a-broker",
    ("--roll",): "restart-all-nodes", ("--decommission", "11"): "take-a-broker-out",
    ("--remove-voter", "1"): "change-the-voters", ("--upgrade", "4.4"): "upgrade",
    ("--downgrade", "4.0"): "downgrade",
    ("--downgrade-binaries", "4.0"): "downgrade", ("--to-dynamic",): "change-the-voters",
}  # fmt: skip


@pytest.mark.parametrize(("change", "runbook"), CHANGES.items(), ids=lambda one: str(one))
def test_a_planned_change_names_its_runbook(
    kraftlake: Kraftlake, data: Path, change: tuple[str, ...], runbook: str
) -> None:
    words = ("plan", *change, data / "kafka-4.4.0-dynamic" / "final")
    shown = f"  runbook {runbook}: `kraftlake explain --runbook {runbook}` prints it"
    assert kraftlake(*words).lines[-1] == shown
    assert kraftlake(*words[:1], "--json", *words[1:]).rows[-1]["runbook"] == runbook


@pytest.mark.parametrize("name", sorted(PAGES))
def test_explain_prints_a_runbook_without_what_is_folded_away(
    kraftlake: Kraftlake, name: str
) -> None:
    told = kraftlake("explain", "--runbook", name)
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert told.code == 0
    assert told.lines[0] == text.splitlines()[0]
    assert "<details" not in told.out
    assert "```" not in told.out
    steps = [line for line in text.partition("<details")[0].splitlines() if line[:1].isdigit()]
    assert set(steps) <= set(told.lines)
    (row,) = kraftlake("explain", "--json", "--runbook", name).rows
    assert row == {"runbook": name, "text": text}


def test_without_a_name_all_runbooks_are_listed_with_what_each_is_for(
    kraftlake: Kraftlake,
) -> None:
    told = kraftlake("explain", "--runbook")
    assert told.code == 0
    assert {line.split()[0] for line in told.lines[2:]} == PAGES
    assert len(told.lines[2:]) == len(PAGES)
    assert all(len(line.split()) > 3 for line in told.lines[2:])
    moves = "before you move partitions"
    assert f"reassign-partitions      {moves}" in told.lines
    rows = kraftlake("explain", "--runbook", "--json").rows
    assert {"runbook": "reassign-partitions", "when": moves} in rows
    assert "exclude each other" in kraftlake("explain", "torn-tail", "--runbook").error


def test_explain_names_the_runbook_of_a_rule(kraftlake: Kraftlake) -> None:
    assert kraftlake("explain", "stale-voter").lines[-1] == (
        "Runbook:  disk-that-forgot: `kraftlake explain --runbook disk-that-forgot` prints it"
    )
    assert "Runbook:" not in kraftlake("explain", "torn-tail").out


def test_a_wrong_runbook_is_refused_in_one_line(kraftlake: Kraftlake) -> None:
    ended = kraftlake("explain", "--runbook", "disk-forgot")
    assert ended.error == "disk-forgot: no runbook of that name; did you mean disk-that-forgot?"
    unknown = kraftlake("explain", "--runbook", "xyzzy").error
    assert unknown == "xyzzy: no runbook of that name; `explain --runbook` lists them"
    assert "exclude each other" in kraftlake("explain", "torn-tail", "--runbook", "alerts").error
