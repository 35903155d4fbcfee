"""Options of `kraftlake prune`."""

from __future__ import annotations

from typing import Annotated

import typer

CapturesFolder = Annotated[
    str, typer.Argument(metavar="FOLDER", help="The folder that holds the captures' folders.")
]
OlderThan = Annotated[
    str,
    typer.Option(
        "--older-than",
        metavar="AGE",
        help="Delete captures older than AGE, such as 90m, 36h, 7d or 2w.",
    ),
]
PruneDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Delete nothing; name the captures that would go.")
]
