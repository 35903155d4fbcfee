"""Gives a lake's tables names in a session's catalog, and takes them away. Never touches data.

The place of a table shows to which lake its name belongs. A view and a database have the lake in a
property. Where a name belongs to another lake or program, an error says so before anything is
changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.catalog.metastore import IMPLEMENTATION
from pipelines.catalog.statements import (
    LAYERS,
    OWNER,
    NamedQuery,
    create_database,
    create_table,
    create_view,
)
from pipelines.delta import Lake
from pipelines.lake import OWN
from pipelines.spark.classic import causes
from pipelines.tables.contract import Contract
from replica.errors import KraftlakeError, UsageError

REGISTERED, KEPT, DROPPED = "registered", "kept", "dropped"


class CatalogError(KraftlakeError):
    """The metastore refused or failed; the message has its reason in one line."""


@dataclass(frozen=True)
class CatalogEntry:
    """The catalog's entry for a name."""

    name: str
    kind: str
    """The kind of the entry: table or view."""
    location: str = ""
    lake: str = ""
    """The lake for which kraftlake made a view; empty for other entries."""
    is_external: bool = False


@dataclass(frozen=True)
class CatalogChange:
    """A name and what was done with it."""

    action: str
    """What was done with the name: REGISTERED, KEPT or DROPPED."""
    entry: CatalogEntry


def register(
    spark: SparkSession,
    lake: Lake,
    contracts: Sequence[Contract],
    views: Sequence[NamedQuery],
    prefix: str = "",
) -> list[CatalogChange]:
    """Gives names to these tables, which the lake holds, and to views, whose names have the prefix.

    A second call makes the views anew, takes away the names of tables that this lake no longer has,
    and changes nothing else. Raises UsageError where a name stands for something else, CatalogError
    where the metastore fails.
    """
    with _failures():
        _require_metastore(spark)
        held = _entries(spark, prefix)
        wanted: dict[CatalogEntry, str] = {}
        """Each entry with the statement that makes it."""
        for one in contracts:
            entry = CatalogEntry(f"{prefix}{one.name}", "table", lake.path_of(one))
            wanted[entry] = create_table(entry.name, one, entry.location)
        for view in views:
            entry = CatalogEntry(view.name, "view", lake=lake.root)
            wanted[entry] = create_view(view, lake.root)
        for entry in wanted:
            _refuse_other(entry, held.get(entry.name))
        _make_databases(spark, lake, prefix, {one.schema_name for one in contracts})
        changes = []
        for entry, statement in wanted.items():
            is_held = entry.name in held
            if entry.kind == "view" or not is_held:
                spark.sql(statement)
            changes.append(CatalogChange(KEPT if is_held else REGISTERED, entry))
        names = {entry.name for entry in wanted}
        others = [entry for entry in held.values() if entry.name not in names]
        return changes + _drop(spark, [one for one in others if _is_of(lake, prefix, one)])


def unregister(spark: SparkSession, lake: Lake, prefix: str = "") -> list[CatalogChange]:
    """Removes the lake's names, and the databases that were made for it and are empty now. Gives a
    change for each removed name."""
    with _failures():
        _require_metastore(spark)
        held = _entries(spark, prefix).values()
        changes = _drop(spark, [entry for entry in held if _is_of(lake, prefix, entry)])
        for layer in LAYERS:
            database = f"{prefix}{layer}"
            if not spark.catalog.databaseExists(database):
                continue
            is_empty = not spark.catalog.listTables(database)
            if is_empty and _owner(spark, database) == lake.root:
                spark.sql(f"DROP DATABASE {database} RESTRICT")
        return changes


def entry_of(name: str, information: str) -> CatalogEntry:
    """The entry of a table or view, from the text of SHOW TABLE EXTENDED."""
    kind = _line("Type", information)
    properties = _line("Table Properties", information)
    owner = re.search(rf"[\[ ]{re.escape(OWNER)}=([^,\]]*)", properties)
    return CatalogEntry(
        name,
        "view" if kind == "VIEW" else "table",
        _line("Location", information),
        owner[1] if owner else "",
        kind == "EXTERNAL",
    )


def same_place(a: str, b: str) -> bool:
    """Whether two spellings of a table's location name one place."""
    return _normal(a) == _normal(b)


def _normal(location: str) -> str:
    text = location.rstrip("/")
    if text.startswith("file:"):
        return "/" + unquote(text.removeprefix("file:")).lstrip("/")
    return text.replace("s3a://", "s3://", 1)


def _line(field: str, information: str) -> str:
    found = re.search(rf"^{field}: (.*)$", information, re.MULTILINE)
    return found[1].strip() if found else ""


def _is_of(lake: Lake, prefix: str, entry: CatalogEntry) -> bool:
    """Whether the entry is a table or view that `register` made for this lake."""
    if entry.kind == "view":
        return entry.lake == lake.root
    layer, table = entry.name.removeprefix(prefix).split(".")
    return entry.is_external and same_place(entry.location, lake.path(layer, table))


def _refuse_other(wanted: CatalogEntry, found: CatalogEntry | None) -> None:
    if found is None:
        return
    if wanted.kind == found.kind == "view" and found.lake == wanted.lake:
        return
    if wanted.kind == found.kind == "table" and same_place(found.location, wanted.location):
        return
    what = f"a view of {found.lake}" if found.lake else f"a {found.kind} {found.location}".rstrip()
    raise UsageError(
        f"{found.name} is {what} in the catalog: register with another --prefix, or take that "
        "name away first; nothing was changed"
    )


def _require_metastore(spark: SparkSession) -> None:
    if spark.conf.get(IMPLEMENTATION, "in-memory") != "hive":
        raise UsageError(
            "this Spark session keeps names in its memory alone: give --catalog FOLDER or "
            f"thrift://HOST:PORT, or start it with {IMPLEMENTATION}=hive and your hive-site.xml"
        )


def _entries(spark: SparkSession, prefix: str) -> dict[str, CatalogEntry]:
    """The catalog's entries in the databases of this prefix, by name."""
    found: dict[str, CatalogEntry] = {}
    for layer in LAYERS:
        database = f"{prefix}{layer}"
        if not spark.catalog.databaseExists(database):
            continue
        for row in spark.sql(f"SHOW TABLE EXTENDED IN {database} LIKE '*'").collect():
            if not row["isTemporary"]:
                name = f"{database}.{row['tableName']}"
                found[name] = entry_of(name, row["information"])
    return found


def _make_databases(spark: SparkSession, lake: Lake, prefix: str, used: Set[str]) -> None:
    """Makes the databases of the layers in the folder of the default database, in which Spark makes
    any other database. used: the layers that have tables. The database of own tables is made only
    where there are own tables."""
    uri = spark.catalog.getDatabase("default").locationUri
    beside = unquote(uri).rstrip("/")  # LOCATION takes a path, and would escape a %20 once more
    for layer in LAYERS:
        if layer == OWN and layer not in used:
            continue
        name = f"{prefix}{layer}"
        if not spark.catalog.databaseExists(name):  # IF NOT EXISTS warns where the database exists
            spark.sql(create_database(name, layer, lake.root, f"{beside}/{name}.db"))


def _owner(spark: SparkSession, database: str) -> str:
    rows = spark.sql(f"DESCRIBE DATABASE EXTENDED {database}").collect()
    said = next((row[1] for row in rows if row[0] == "Properties"), "") or ""
    found = re.search(rf"\({re.escape(OWNER)},(.*?)\)", said)
    return found[1].strip() if found else ""


def _drop(spark: SparkSession, entries: Sequence[CatalogEntry]) -> list[CatalogChange]:
    for entry in entries:
        spark.sql(f"DROP {entry.kind.upper()} {entry.name}")
    return [CatalogChange(DROPPED, entry) for entry in entries]


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise catalog_error("\n".join((str(error), *causes(error)))) from error


def catalog_error(said: str) -> KraftlakeError:
    """The error for a user. said: the messages of an error and its causes, a line each."""
    locked = re.search(r"may have already booted the database (.+?)\.?$", said, re.MULTILINE)
    if locked:
        return CatalogError(
            f"{locked[1]} is open in another process, and Derby serves one at a time: end the "
            "spark-sql, Thrift server or notebook that has it, or use a Hive metastore service"
        )
    away = re.search(r"Most recent failure: (.*)", said)
    if "Could not connect to meta store" in said and away:
        return CatalogError(f"no Hive metastore answers ({away[1].strip()}): check --catalog")
    if "SocketTimeoutException" in said:
        return CatalogError("the Hive metastore gives no answer: check --catalog")
    if "org.apache.thrift" in said:
        return CatalogError("no Hive metastore answers, but something else: check --catalog")
    last = [line.strip() for line in said.splitlines() if line.strip()]
    return CatalogError(f"the catalog failed: {last[-1] if last else 'it gave no reason'}")
