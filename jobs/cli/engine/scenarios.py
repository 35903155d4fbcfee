"""`kraftlake simulate SCENARIO -o DIR`: makes the log directories of a scenario, or lists all
scenarios."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.cli.option_values import value_named
from jobs.cli.output import ms_text, write_either
from replica.shell_text import line, path
from replica.simulate.scenarios.library import SCENARIOS, SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import Capture
from replica.simulate.scenarios.scenario import NamedScenario
from replica.simulate.scenarios.writing import refuse_filled, write_capture


def list_scenarios(*, json_output: bool) -> int:
    """Prints the story of each scenario. Returns 0."""
    write_either(map(_plain, SCENARIOS), _stories(), json_output=json_output)
    return 0


def _stories() -> Iterator[str]:
    for scenario in SCENARIOS:
        yield scenario.name
        yield f"    {scenario.story}"
        yield f"    Retells: {', '.join(scenario.issues)}"
    yield ""
    yield "`kraftlake simulate SCENARIO -o DIR` writes the log directories of one."


def run(name: str, directory: str, *, json_output: bool) -> int:
    """Runs the scenario, writes the content of its disks, and prints the next command. Returns 0.

    directory: a new or empty folder.
    """
    scenario = value_named(name, SCENARIOS_BY_NAME, "scenario", "--list shows them")
    refuse_filled(directory)
    capture = scenario.capture()
    write_capture(capture, directory)
    lines = _described(scenario, capture, directory)
    write_either([_row(scenario, capture, directory)], lines, json_output=json_output)
    return 0


def _plain(scenario: NamedScenario) -> dict[str, object]:
    tampering = scenario.tampering
    return {
        "scenario": scenario.name,
        "story": scenario.story,
        "issues": list(scenario.issues),
        "tampering": None if tampering is None else tampering.meaning,
        "findings": list(scenario.findings),
    }


def _row(scenario: NamedScenario, capture: Capture, directory: str) -> dict[str, object]:
    return {
        **_plain(scenario),
        "directory": directory,
        "cluster_id": capture.cluster_id,
        "captured_at": capture.captured_at_ms,
        "nodes": sorted(capture.files),
    }


def _described(scenario: NamedScenario, capture: Capture, directory: str) -> Iterator[str]:
    nodes = ", ".join(map(str, sorted(capture.files)))
    at = ms_text(capture.captured_at_ms)
    yield f"{directory}: nodes {nodes} of cluster {capture.cluster_id}, captured at {at}"
    yield f"Story:     {scenario.story}"
    yield f"Retells:   {', '.join(scenario.issues)}"
    if scenario.tampering is not None:
        yield f"Tampered:  {scenario.tampering.meaning}, which no correct engine writes"
    yield f"Findings:  {', '.join(scenario.findings) or 'none'}"
    yield "Look at it:"
    yield from (f"  {command}" for command in _commands(scenario, directory))


def _commands(scenario: NamedScenario, directory: str) -> list[str]:
    a, b = (path(f"{directory}/{node_id}") for node_id in scenario.compare)
    return [
        line("kraftlake", "check", path(directory)),
        line("kraftlake", "diff", a, b),
        line("kraftlake", "dump", a),
        *(line("kraftlake", "explain", rule) for rule in scenario.findings[:1]),
    ]
