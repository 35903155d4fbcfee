"""The options of rehearsals, which `rehearse` and `recover --plan` share."""

from __future__ import annotations

from typing import Annotated

from jobs.commands import options
from jobs.commands.parameters import Text, option

ScenarioFile = Annotated[
    Text,
    option("--scenario FILE", "A TOML file of the steps to play. Without it, all nodes start."),
]
Seeds = Annotated[
    str, option("--seeds A:B", "Run once for each seed from A to B - 1; 10,000 runs at most.")
]
Failures = Annotated[
    int,
    option(
        "--failures N",
        "Search for the smallest set of up to N failed voters that loses committed records; 0 for "
        "no search.",
        min=0,
        max=5,
    ),
]
Outcomes = Annotated[
    Text,
    option(
        "-o, --output FOLDER",
        "Write the disks of each outcome below this new or empty folder.",
        callback=options.on_disk("-o"),
    ),
]
RehearsePlan = Annotated[
    bool, option("--rehearse", "Also play the steps in the simulator, and compare the outcomes.")
]
PlanSeeds = Annotated[
    Text,
    option(
        "--seeds A:B",
        "With --rehearse: run once for each seed from A to B - 1; 10,000 runs at most.",
    ),
]
