"""Options of `kraftlake prune`."""

from __future__ import annotations

from typing import Annotated

import typer

CapturesFolder = Annotated[
    str, typer.Argument(metavar="FOLDER", help="The folder in which the captures' folders are.")
]
OlderThan = Annotated[
    str,
    typer.Option(
        "--older-than", metavar="AGE", help="A number and m, h, d or w: 90m, 36h, 7d or 2w."
    ),
]
PruneDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only name the captures that would go.")
]
