"""A lake is one folder, local or remote, with its tables below: <lake>/<schema>/<table>."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pipelines.object_store import s3a_uri
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class Lake:
    """The root folder of the tables: a path, or a URI that Spark's Hadoop knows; s3:// is s3a://.

    A local path is made absolute: Spark's JVM need not share our working directory.
    """

    root: str

    def __init__(self, root: str | os.PathLike[str]) -> None:
        text = os.fspath(root)
        if "://" not in text:
            text = str(Path(text.removeprefix("file:")).absolute())
        text = s3a_uri(text)
        object.__setattr__(self, "root", text.rstrip("/") or "/")

    def path(self, schema: str, table: str) -> str:
        """The table's folder."""
        return f"{self.root}/{schema}/{table}"

    def path_of(self, contract: Contract) -> str:
        """The folder of the contract's table."""
        return self.path(contract.schema_name, contract.table_name)
