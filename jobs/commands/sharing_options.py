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
        help="A folder for an embedded metastore (Derby), or a Hive metastore: thrift://HOST:PORT.",
    ),
]
Prefix = Annotated[
    str, typer.Option("--prefix", metavar="P", help="Before bronze, silver and gold, as in prod_.")
]
ClientFile = Annotated[
    Text,
    typer.Option(
        "--client-file",
        callback=on_disk("--client-file"),
        metavar="FILE",
        help="Where to write Spark's settings for readers; by default spark.conf in the folder.",
    ),
]
DropNames = Annotated[bool, typer.Option("--drop", help="Take the lake's names away; data stays.")]
PathsOfAReport = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        callback=lambda paths: [check_place(path) for path in paths or []],
        metavar="[PATH...]",
        help="What to ingest before, as for ingest.",
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
        help="The file or, of several tables as Parquet or CSV, the folder to make.",
    ),
]
ExportForm = Annotated[
    Text,
    typer.Option(
        "--to",
        metavar="FORM",
        help="duckdb, sqlite, parquet, csv or views (for DuckDB); by default by PLACE's ending.",
    ),
]
ExportedQuery = Annotated[
    Text,
    typer.Option("--query", metavar="SQL", help="The answer to a query instead, a table `answer`."),
]
ExportedQuestion = Annotated[
    Text,
    typer.Option("--question", metavar="NAME", help="The same of a question of `sql --questions`."),
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
        help="Directories of nodes instead of a lake.",
        show_default=False,
    ),
]
MostRows = Annotated[
    int, typer.Option("--rows", metavar="N", min=1, help="Rows of an answer at most.")
]
MostSeconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1, help="Seconds that an answer may take at most."),
]
