"""The options of `kraftlake report`, `export`, `mcp` and `register`."""

from __future__ import annotations

from typing import Annotated

from jobs.commands.options import each_by, on_disk
from jobs.commands.parameters import Text, Texts, argument, option
from pipelines.object_store import check_local, check_place

Catalog = Annotated[
    Text,
    option(
        "--catalog FOLDER|URI",
        "The metastore: a folder for an embedded one (Derby), or thrift://HOST:PORT.",
    ),
]
Prefix = Annotated[
    str, option("--prefix P", "A prefix for bronze, silver and gold, such as prod_.")
]
ClientFile = Annotated[
    Text,
    option(
        "--client-file FILE",
        "The file of Spark's settings for readers to write; by default spark.conf in FOLDER.",
        callback=on_disk("--client-file"),
    ),
]
DropNames = Annotated[bool, option("--drop", "Drop the lake's names; the data stays.")]
PathsOfAReport = Annotated[
    Texts,
    argument(
        "[PATH...]",
        "Directories, files or archives to report on, as for ingest.",
        callback=each_by(check_place),
    ),
]
TablesToExport = Annotated[
    Texts, argument("[TABLE...]", "Tables such as gold.findings; all of the lake by default.")
]
ExportOutput = Annotated[
    str,
    option(
        "-o, --output PLACE",
        "The file to make; for several tables as Parquet or CSV, the folder to make.",
        callback=on_disk("-o"),
    ),
]
ExportForm = Annotated[
    Text,
    option(
        "--to FORM",
        "The form: duckdb, sqlite, parquet, csv or views (for DuckDB); by default as PLACE ends.",
    ),
]
ExportedQuery = Annotated[
    Text, option("--query SQL", "Export the answer to this query, as a table `answer`.")
]
ExportedQuestion = Annotated[
    Text, option("--question NAME", "Export the answer to a question of `sql --questions`.")
]
Overwrite = Annotated[
    bool, option("--overwrite", "Replace the file or folder of an earlier export.")
]
PathsToServe = Annotated[
    Texts,
    argument(
        "[PATH...]",
        "Directories of nodes, to serve instead of a lake.",
        callback=each_by(check_local),
    ),
]
MostRows = Annotated[int, option("--rows N", "Give N rows at most in an answer.", min=1)]
MostSeconds = Annotated[float, option("--seconds S", "Stop an answer after S seconds.", min=1)]
