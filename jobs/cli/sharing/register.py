"""`kraftlake register`: names for a lake's tables and views in a Hive metastore.

spark-submit can start it, too, with the same options. Without --catalog it then registers in the
metastore of that session's own settings:

    spark-submit --conf spark.sql.catalogImplementation=hive jobs/register.py --lake /data/lake
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.cli.asking.sql_views import AT_END, HISTORY, SPARK_SQL, VIEWS, select
from jobs.cli.commands.sharing import RegisterOptions
from jobs.cli.interrupts import interruptible, started_spark
from jobs.cli.output import complain, write_line, write_rows
from pipelines.catalog.metastore import (
    CLIENT_FILE,
    PATIENCE,
    catalog_folder,
    check_catalog_folder,
    held_catalog,
    is_folder,
    metastore_settings,
    properties_text,
)
from pipelines.catalog.statements import NamedQuery
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from replica.errors import UsageError, writing

if TYPE_CHECKING:
    from pipelines.catalog.registration import CatalogChange

_PREFIX = re.compile(r"[a-z][a-z0-9_]*|")


def run(options: RegisterOptions) -> int:
    """Registers or removes the names, and prints what was done. Returns 0. Raises
    KraftlakeError."""
    lake, catalog, prefix = options.lake, options.catalog, options.prefix
    client_file, drop = options.client_file, options.drop
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(f"--prefix {prefix}: small letters, digits and _, a letter first")
    settings = {} if catalog is None else metastore_settings(catalog)
    # names of a lake that no longer exists can be removed, too
    in_lake = () if drop else tables_of(lake)
    from pipelines.spark.connect import refuse_remote
    from pipelines.spark.session import check_startable
    from pipelines.spark.settings import client_settings

    refuse_remote("register")  # a catalog is a setting of the whole Spark
    check_startable()
    embedded = catalog if catalog is not None and is_folder(catalog) else None
    if embedded is not None:
        check_catalog_folder(embedded)
    with (
        nullcontext() if embedded is None else held_catalog(embedded),
        interruptible("register", lambda: "run the same command again, which goes on"),
    ):
        changes = _changes(lake, PATIENCE | settings, None if drop else in_lake, prefix)
    _print(changes, json_output=options.json_output)
    if embedded is not None and client_file is None:
        client_file = str(catalog_folder(embedded) / CLIENT_FILE)
    if client_file is not None and not drop:
        _write(Path(client_file), properties_text(client_settings(settings)))
    return 0


def _changes(
    lake: Lake, settings: Mapping[str, str], in_lake: Sequence[str] | None, prefix: str
) -> Sequence[CatalogChange]:
    """Gives tables of the lake their names in the catalog, or removes the names. Gives the changes
    that were made. Spark starts here.

    in_lake: the tables that get names; None removes all names of the lake from the catalog.
    """
    from pipelines.catalog.registration import register, unregister
    from pipelines.own_tables.stored import contracts_in

    spark = started_spark("register", lake, settings)
    if in_lake is None:
        return unregister(spark, lake, prefix)
    present = contracts_in(lake, in_lake)
    views = views_of(prefix) if HISTORY in in_lake else ()
    return register(spark, lake, present, views, prefix)


def views_of(prefix: str) -> tuple[NamedQuery, ...]:
    """The views of `kraftlake sql`, each of the state at the end of the log. They read tables whose
    names begin with the prefix."""
    return tuple(
        NamedQuery(
            f"{prefix}{view.name}",
            view.description.replace("at the moment asked for", "at the end of the log"),
            tuple((name, meaning) for name, _, meaning in view.columns),
            select(view, SPARK_SQL, AT_END, f"{prefix}{HISTORY}"),
        )
        for view in VIEWS
    )


def _print(changes: Iterable[CatalogChange], *, json_output: bool) -> None:
    rows = [
        {
            "action": one.action,
            "kind": one.entry.kind,
            "name": one.entry.name,
            "location": one.entry.location or one.entry.lake,
        }
        for one in changes
    ]
    write_rows(rows, json_output=json_output)
    if not rows and not json_output:
        write_line("the catalog has no names of this lake")


def _write(path: Path, text: str) -> None:
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    complain(f"register: wrote {path}, for spark-sql, spark-submit and others by --properties-file")
