"""Which nodes a scenario starts with the disks that were captured: the doubts about these disks
count."""

from __future__ import annotations

import pytest

from replica.doctor.rehearsal.step import Scenario, ScenarioStep

EMPTY, START = ScenarioStep(empty=(1,)), ScenarioStep(start=(1, 2))


@pytest.mark.parametrize(
    ("steps", "starts"),
    [
        ((ScenarioStep(),), True),
        ((START,), True),
        ((ScenarioStep(start=(2, 3)),), False),
        ((ScenarioStep(start=(2, 3)), START), True),
        ((ScenarioStep(start=(2, 3)), ScenarioStep()), False),
        ((ScenarioStep(dead=(1,)),), False),
        ((START, ScenarioStep(dead=(1,))), True),
        ((ScenarioStep(dead=(1,)), START), True),
        ((EMPTY,), False),
        ((EMPTY, START), False),
        ((ScenarioStep(start=(2, 3)), EMPTY), False),
        ((START, EMPTY), True),
        ((ScenarioStep(remove_voter=1),), True),
    ],
)
def test_a_node_starts_with_its_own_disk(steps: tuple[ScenarioStep, ...], *, starts: bool) -> None:
    assert Scenario(steps).starts_own_disk(1) is starts
