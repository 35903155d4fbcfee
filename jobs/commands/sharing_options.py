"""The options of `kraftlake register` and `kraftlake report`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from jobs.commands.options import Text, on_disk
from pipelines.object_store import check_local, check_place

Catalog = Annotated[
    Text,
    typer.Option(
        "--catalog",
        metavar="FOLDER|URI",
        help="The metastore: a folder for an embedded one (Derby), or thrift://HOST:PORT.",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(
        "--prefix", metavar="P", help="A prefix for bronze, silver and gold, such as prod_."
    ),
]
ClientFile = Annotated[
    Text,
    typer.Option(
        "--client-file",
        callback=on_disk("--client-file"),
        metavar="FILE",
        help="The file of Spark's settings for readers to write; by default spark.conf in FOLDER.",
    ),
]
DropNames = Annotated[bool, typer.Option("--drop", help="Drop the lake's names; the data stays.")]
PathsOfAReport = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        callback=lambda paths: [check_place(path) for path in paths or []],
        metavar="[PATH...]",
        help="Directories, files or archives to report on, as for ingest.",
        show_default=False,
    ),
]
TablesToExport = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="[TABLE...]",
        help="Tables such as gold.findings; all of the lake by default.",
        show_default=False,
    ),
]
ExportOutput = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="PLACE",
        callback=on_disk("-o"),
        help="The file to make; for several tables as Parquet or CSV, the folder to make.",
    ),
]
ExportForm = Annotated[
    Text,
    typer.Option(
        "--to",
        metavar="FORM",
        help="duckdb, sqlite, parquet, csv or views (for DuckDB); the default follows PLACE's "
        "ending.",
    ),
]
ExportedQuery = Annotated[
    Text,
    typer.Option(
        "--query", metavar="SQL", help="Export the answer to this query, as a table `answer`."
    ),
]
ExportedQuestion = Annotated[
    Text,
    typer.Option(
        "--question", metavar="NAME", help="Export the answer to a question of `sql --questions`."
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the file or folder of an earlier export."),
]
PathsToServe = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="[PATH...]",
        callback=lambda paths: [check_local(path) for path in paths or []],
        help="Directories of nodes, to serve instead of a lake.",
        show_default=False,
    ),
]
MostRows = Annotated[
    int, typer.Option("--rows", metavar="N", min=1, help="Give N rows at most in an answer.")
]
MostSeconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1, help="Stop an answer after S seconds."),
]
