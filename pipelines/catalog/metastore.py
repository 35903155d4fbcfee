"""Spark's settings for the Hive metastore that keeps the names. This module starts nothing.

The metastore is embedded in a folder, in Derby, which serves one machine and one process at a time;
or it is a Hive metastore service, named by a URI, which serves any number of processes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.own_folder import hold, names_in, refuse_foreign_names
from replica.errors import BusyError, UsageError

METASTORE = "metastore_db"
CLIENT_FILE = "spark.conf"
_OURS = (METASTORE, CLIENT_FILE, "derby.log", "warehouse")
IMPLEMENTATION = "spark.sql.catalogImplementation"
PATIENCE = {
    "spark.hadoop.hive.metastore.client.socket.timeout": "15s",
    "spark.hadoop.hive.metastore.failure.retries": "0",
    "spark.hadoop.hive.metastore.connect.retries": "2",
}
"""Settings of a session that asks a metastore service and then ends. Hive's client itself waits ten
minutes for each answer, and asks four times."""
_BY_DERBY = {"README_DO_NOT_TOUCH_FILES.txt", "db.lck", "dbex.lck", "log", "seg0", "tmp"}
"""The files of a Derby database before it is finished."""
_SERVICE = re.compile(r"thrift://[^\s/,:]+:\d+")
_UNFIT = re.compile(r'[;"\n]')  # they end a part of Derby's URL, or of a Java option


def metastore_settings(catalog: str) -> dict[str, str]:
    """Spark's settings for a metastore. catalog: a folder, or thrift://HOST:PORT,...

    Raises UsageError for another kind of URI, and for a folder that Derby's URL can't name.
    """
    if not is_folder(catalog):
        if not all(_SERVICE.fullmatch(uri) for uri in catalog.split(",")):
            raise UsageError(
                f"--catalog {catalog}: give a folder, or a Hive metastore as thrift://HOST:PORT "
                "(several with a comma)"
            )
        return {IMPLEMENTATION: "hive", "spark.hadoop.hive.metastore.uris": catalog}
    folder = catalog_folder(catalog)
    if _UNFIT.search(str(folder)):
        raise UsageError(f"--catalog {catalog}: Derby can't take ; or quotes in a path")
    return {
        IMPLEMENTATION: "hive",
        # the URIs of a hive-site.xml would win over the folder
        "spark.hadoop.hive.metastore.uris": "",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / METASTORE};create=true"
        ),
        # a path: Spark would escape a URI's %20 once more
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # by default Derby writes derby.log into the caller's folder
        "spark.driver.extraJavaOptions": f'"-Dderby.stream.error.file={folder / "derby.log"}"',
    }


def is_folder(catalog: str) -> bool:
    """Whether the metastore is embedded."""
    return "://" not in catalog or catalog.startswith("file:")


def catalog_folder(catalog: str) -> Path:
    """The folder of an embedded metastore, absolute."""
    return Path(catalog.removeprefix("file://").removeprefix("file:")).absolute()


def check_catalog_folder(catalog: str) -> None:
    """Raises UsageError where the folder of an embedded metastore holds other things and no
    metastore."""
    folder = catalog_folder(catalog)
    if not (folder / METASTORE).exists():
        names = names_in(folder)
        refuse_foreign_names(f"--catalog {catalog}", names, _OURS.__contains__, "metastore")


@contextmanager
def held_catalog(catalog: str) -> Iterator[None]:
    """Makes the folder of an embedded metastore and holds it for this process: no other `register`
    works there meanwhile.

    First removes a database that Derby didn't finish making because its process was killed: Derby
    would never open it. Raises BusyError where another process has the folder or the database.
    """
    folder = catalog_folder(catalog)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        hold(handle, f"{folder} is open in another process, a kraftlake register: wait for its end")
        _remove_unfinished(folder / METASTORE)
        yield
    finally:
        os.close(handle)


def _remove_unfinished(database: Path) -> None:
    """Removes a database that is not finished: Derby writes service.properties last. Raises
    BusyError where another process has the database."""
    names = set(names_in(database))
    if names and "service.properties" not in names and names <= _BY_DERBY:
        with suppress(FileNotFoundError), open(database / "dbex.lck", "r+b") as lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Java uses the same kind of lock
            except OSError as error:
                raise BusyError(
                    f"{database} is open in another process: wait for its end"
                ) from error
        shutil.rmtree(database)
    elif not names and database.is_dir():
        database.rmdir()


def properties_text(settings: Mapping[str, str]) -> str:
    """A file for `--properties-file` of spark-submit and spark-sql."""
    lines = []
    for key, value in settings.items():
        escaped = value.replace("\\", "\\\\")  # as java.util.Properties reads it back
        lines.append(f"{key} {escaped}".rstrip())
    return "\n".join([_HEAD, *lines, ""])


_HEAD = """\
# Written by `kraftlake register`, anew each time: with these settings any program of Spark's knows
# the lake's tables by name and reads them as kraftlake does (Delta, times in UTC).
#   spark-sql --properties-file FILE -e "SELECT * FROM gold.leader_epoch_history"
"""
