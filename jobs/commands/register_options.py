"""The options of `kraftlake register`."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Text, on_disk

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
