"""The options of rehearsals, which `rehearse` and `recover --plan` share."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands import options

ScenarioFile = Annotated[
    options.Text,
    typer.Option(
        "--scenario", metavar="FILE", help="What happens, step by step (TOML); else all start."
    ),
]
Seeds = Annotated[
    str,
    typer.Option(
        "--seeds", metavar="A:B", help="The seeds from A to B - 1, a run each; 10,000 at most."
    ),
]
Failures = Annotated[
    int,
    typer.Option(
        "--failures",
        min=0,
        max=5,
        metavar="N",
        help="Search for the smallest set of up to N failed voters that loses committed records; "
        "0 for no search.",
    ),
]
Outcomes = Annotated[
    options.Text,
    typer.Option(
        "-o",
        "--output",
        callback=options.on_disk("-o"),
        metavar="FOLDER",
        help="Write the disks of each outcome below this new or empty folder.",
    ),
]
RehearsePlan = Annotated[
    bool,
    typer.Option("--rehearse", help="Play the steps in the simulator first, and compare."),
]
PlanSeeds = Annotated[
    options.Text,
    typer.Option(
        "--seeds", metavar="A:B", help="Of --rehearse: a run for each seed, 10,000 at most."
    ),
]
