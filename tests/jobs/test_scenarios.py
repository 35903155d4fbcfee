"""`kraftlake simulate SCENARIO`: log directories in which the other commands find what is told."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from replica.doctor.check.catalogue import RULES_BY_ID
from replica.severity import Severity
from replica.simulate.node import key_of
from replica.simulate.scenarios.library import SCENARIOS, SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario
from tests.jobs.conftest import Kraftlake


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_check_finds_what_the_scenario_promises(
    kraftlake: Kraftlake, tmp_path: Path, scenario: NamedScenario
) -> None:
    assert kraftlake("simulate", scenario.name, "-o", tmp_path / "out").code == 0
    ended = kraftlake("check", "--json", "--family", "files", tmp_path / "out")
    assert sorted({row["rule"] for row in ended.findings}) == list(scenario.findings)
    loud = [rule for rule in scenario.findings if RULES_BY_ID[rule].severity is not Severity.INFO]
    assert ended.code == (1 if loud else 0)


def entries(quorum: ScriptedQuorum) -> dict[int, list[tuple[int, int, int, bytes]]]:
    """What was written to each log, as the simulation saw it: base, last, epoch, CRC."""
    shadows = quorum.simulation.invariants.shadows
    return {
        node_id: [entry[:4] for entry in shadows[key_of(node.running)].entries]
        for node_id, node in quorum.nodes.items()
    }


@pytest.mark.parametrize("name", ["ghost-writes", "split-brain", "divergent-many-epochs"])
def test_diff_finds_the_offsets_at_which_the_simulation_let_logs_part(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    logs = entries(SCENARIOS_BY_NAME[name].play())
    assert kraftlake("simulate", name, "-o", tmp_path / "out").code == 0
    parted = 0
    for a, b in combinations(logs, 2):
        differing = (x for x, y in zip(logs[a], logs[b], strict=False) if x != y)
        expected = next((base for base, *_ in differing), None)
        (row,) = kraftlake("diff", "--json", tmp_path / f"out/{a}", tmp_path / f"out/{b}").rows
        assert row["divergence_offset"] == expected, (a, b)
        parted += expected is not None
    assert parted


def test_following_over_many_epochs_takes_several_rounds(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    kraftlake("simulate", "divergent-many-epochs", "-o", tmp_path / "out")
    (row,) = kraftlake("diff", "--json", tmp_path / "out/1", tmp_path / "out/2").rows
    assert row["fetch_rounds"] >= 3
    assert row["committed_lost"] == 0


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_voters_that_voted_or_led_later_are_not_said_to_have_stopped(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    """Voter 2 led three epochs after the record at which it parted, and voter 3 voted in all."""
    kraftlake("simulate", "divergent-many-epochs", "-o", tmp_path / "out")
    said = "\n".join(kraftlake(command, tmp_path / "out").lines)
    assert "voters 2 and 3" not in said
    assert "offsets 18 to 35 (18 records, of topic orders) are on 1 of 3 voters (1)" in said


@pytest.mark.parametrize("name", ["figure-8", "divergent-many-epochs"])
def test_check_and_diff_know_what_recover_proves_was_never_committed(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out"
    kraftlake("simulate", name, "-o", out)
    rows = kraftlake("recover", "--plan", "--json", out).rows
    planned = {row["node_id"]: row for row in rows if row.get("kind") == "replica"}
    assert not any(row["unproven_lost"] for row in planned.values())
    (diverged,) = {one for one, row in planned.items() if row["superseded_lost"]}
    (verdict,) = kraftlake("check", "--json", out).verdicts
    of_losses = [one["text"] for one in verdict["facts"] if "log-divergence" in one["rules"]]
    never = "never committed, if no log grew after the first directory was copied"
    assert of_losses
    assert all(never in one for one in of_losses)
    conditional = [text for text in of_losses if text.startswith("If node 5 leads, nodes 2 and 3")]
    assert len(conditional) == (name == "figure-8"), (
        "their log loses to node 5's only if that leads"
    )
    (row,) = kraftlake("diff", "--json", out / "1", out / str(diverged)).rows
    few = name == "figure-8"  # two of five voters prove nothing
    assert (row["unproven_lost"] > 0, row["superseded_lost"] > 0) == (few, not few)


def test_simulate_names_the_written_nodes_and_commands_that_work_on_them(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("simulate", "snapshot-off-by-one", "-o", "some where")
    assert ended.code == 0
    assert ended.lines[0].startswith("some where: nodes 1, 2, 3, 4, 5 of cluster ")
    assert "Retells:   KAFKA-14618" in ended.lines
    assert any(line.startswith("Tampered:  the id of node 2's") for line in ended.lines)
    assert "  kraftlake diff 'some where/1' 'some where/2'" in ended.lines
    assert kraftlake("diff", "some where/1", "some where/2").code == 0
    assert kraftlake("dump", "some where/1").code == 0


def test_json_says_what_lies_where(kraftlake: Kraftlake, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    (row,) = kraftlake("simulate", "split-brain", "-o", out, "--json").rows
    assert row["directory"] == out
    assert row["nodes"] == [1, 2, 3, 4, 5, 6, 7]
    assert row["findings"] == ["log-divergence"]
    assert row["captured_at"] > 1_767_225_600_000
    assert {path.name for path in Path(out).iterdir()} == {*map(str, row["nodes"]), "capture.json"}


@pytest.mark.parametrize("arguments", [(), ("--list",)])
def test_without_a_scenario_all_are_listed(
    kraftlake: Kraftlake, arguments: tuple[str, ...]
) -> None:
    ended = kraftlake("simulate", *arguments)
    assert ended.code == 0
    assert set(SCENARIOS_BY_NAME) <= set(ended.lines)
    rows = kraftlake("simulate", *arguments, "--json").rows
    assert [(row["scenario"], row["story"]) for row in rows] == [
        (scenario.name, scenario.story) for scenario in SCENARIOS
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("split-brian", "-o", "x"), "split-brian: no scenario of that name; did you mean split-"),
        (("q", "-o", "x"), "q: no scenario of that name; --list shows them"),
        (("split-brain",), "split-brain: -o DIR is missing, a new folder for its nodes"),
        (("-o", "x"), "-o x: the scenario is missing; --list shows them"),
        (("split-brain", "--seeds", "1:2"), "--seeds goes with no scenario, -o or --list"),
        (("--jobs", "2"), "--jobs goes with --seeds"),
    ],
)
def test_contradictory_options_of_simulate_are_usage_errors(
    kraftlake: Kraftlake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("simulate", *arguments)
    assert ended.code == 2
    assert ended.error.startswith(why)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused_before_the_scenario_runs(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("precious")
    ended = kraftlake("simulate", "split-brain", "-o", tmp_path)
    assert (ended.code, ended.error) == (
        2,
        f"{tmp_path}: not empty; name a new folder",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
