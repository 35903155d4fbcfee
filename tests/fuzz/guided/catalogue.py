"""All targets, by their names."""

from __future__ import annotations

from tests.fuzz.guided import bundles, configurations, logs, records, state_files, wire
from tests.fuzz.guided.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (logs, records, state_files, wire, configurations, bundles)
    for target in module.TARGETS
}
