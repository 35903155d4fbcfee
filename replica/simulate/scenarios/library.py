"""All scenarios by name."""

from __future__ import annotations

from replica.simulate.scenarios import (
    controller,
    damage,
    divergence,
    elections,
    membership,
    snapshots,
)
from replica.simulate.scenarios.scenario import NamedScenario

SCENARIOS: tuple[NamedScenario, ...] = (
    *divergence.SCENARIOS,
    *elections.SCENARIOS,
    *membership.SCENARIOS,
    *controller.SCENARIOS,
    *snapshots.SCENARIOS,
    *damage.SCENARIOS,
)
SCENARIOS_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
