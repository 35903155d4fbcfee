"""The options of `kraftlake sql` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Text

Query = Annotated[
    Text,
    typer.Argument(metavar="[QUERY]", help="One statement that reads; - takes it from stdin."),
]
QueryFile = Annotated[
    Text, typer.Option("-f", "--file", metavar="FILE", help="Take the query from a file.")
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="ENGINE", help="delta-rs, which starts at once, duckdb or spark."
    ),
]
Tables = Annotated[
    bool, typer.Option("--tables", help="List the lake's tables and columns instead.")
]
AskedQuestion = Annotated[
    Text,
    typer.Option("--question", metavar="NAME", help="A ready-made question; --questions has all."),
]
Questions = Annotated[
    bool, typer.Option("--questions", help="List the ready-made questions instead; --json: SQL.")
]
