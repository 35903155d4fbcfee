"""The options of rehearsals, which `rehearse` and `recover --plan` share."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands import options

ScenarioFile = Annotated[
    options.Text,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="A TOML file of the steps to play. Without it, all nodes start.",
    ),
]
Seeds = Annotated[
    str,
    typer.Option(
        "--seeds",
        metavar="A:B",
        help="Run once for each seed from A to B - 1; 10,000 runs at most.",
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
    typer.Option(
        "--rehearse", help="Also play the steps in the simulator, and compare the outcomes."
    ),
]
PlanSeeds = Annotated[
    options.Text,
    typer.Option(
        "--seeds",
        metavar="A:B",
        help="With --rehearse: run once for each seed from A to B - 1; 10,000 runs at most.",
    ),
]
