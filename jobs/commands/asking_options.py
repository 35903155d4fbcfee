"""The options of `kraftlake sql` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Text

Query = Annotated[
    Text,
    typer.Argument(metavar="[QUERY]", help="One SELECT statement; - reads it from stdin."),
]
QueryFile = Annotated[
    Text, typer.Option("-f", "--file", metavar="FILE", help="Read the query from a file.")
]
Engine = Annotated[
    str,
    typer.Option("--engine", metavar="ENGINE", help="The SQL engine: delta-rs, duckdb or spark."),
]
Tables = Annotated[
    bool, typer.Option("--tables", help="List the lake's tables and columns instead.")
]
AskedQuestion = Annotated[
    Text,
    typer.Option(
        "--question", metavar="NAME", help="Ask a prepared question; --questions lists them."
    ),
]
Questions = Annotated[
    bool,
    typer.Option("--questions", help="List the prepared questions; with --json, their SQL too."),
]
