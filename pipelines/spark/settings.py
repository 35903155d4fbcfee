"""The settings of a session of Spark, and of other programs that read a lake by Spark.

The order in which settings win: the caller's; those of spark-submit, or of the spark-defaults.conf
in the user's SPARK_CONF_DIR; for a local master conf/spark-local.conf; conf/spark-defaults.conf;
the settings in this file.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from pipelines.conf_files import Folder, conf_directory, read_defaults, read_properties
from pipelines.spark.session_jars import add_jars, jars_for
from replica.import_path import checkout_path, is_current_folder_left_out

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
EXTENSIONS = "spark.sql.extensions"
WAREHOUSE = "spark.sql.warehouse.dir"
MASTER = "spark.master"

# For every master: without these settings the tables or their times would be wrong.
_ESSENTIAL = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "in-memory",  # Hive's would drop metastore_db into the cwd
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.showConsoleProgress": "false",  # it overwrites our own lines on stderr
}
FORCED = {"spark.sql.session.timeZone": "UTC"}
"""Settings that a user can't change: times in the lake are UTC, and SQL renders them in UTC."""

_AUTHENTICATE, _SECRET = "spark.authenticate", "spark.authenticate.secret"
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


def session_settings(app_name: str, given: Mapping[str, str]) -> dict[str, str]:
    """All settings of a new session, except the jars. given: the settings of the caller and of
    spark-submit."""
    master = given.get(MASTER) or _default_master()
    given = {MASTER: master, **given}
    settings = {"spark.app.name": app_name, **_ESSENTIAL, **_files_settings(given)}
    if is_local(master):
        if is_current_folder_left_out():
            settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"  # also where spark-submit began
        if (path := checkout_path()) is not None:
            settings["spark.executorEnv.PYTHONPATH"] = path
        settings["spark.pyspark.python"] = sys.executable
        settings["spark.pyspark.driver.python"] = sys.executable
    settings |= given
    settings |= FORCED
    extensions = [name for name in settings.get(EXTENSIONS, "").split(",") if name]
    if DELTA_EXTENSION not in extensions:
        extensions.append(DELTA_EXTENSION)
    settings[EXTENSIONS] = ",".join(extensions)
    if WAREHOUSE not in settings:
        settings[WAREHOUSE] = scratch_warehouse()
    # For local[...] Spark makes a secret by itself.
    if master.startswith("local-cluster") and settings.get(_AUTHENTICATE) == "true":
        settings.setdefault(_SECRET, token_hex(32))
    return settings


def client_settings(asked: Mapping[str, str]) -> dict[str, str]:
    """The settings with which other programs of Spark on this machine read a lake as spark_session
    does.

    asked: the caller's own settings, which win over conf/spark-defaults.conf. Delta's jars are
    those that pipelines.spark.jars finds.
    """
    settings: dict[str, str] = {}
    jars = jars_for(settings, offline_jars(), in_s3=False)
    add_jars(settings, jars)
    # the Thrift server's sessions know only the classes that the JVM started with
    settings["spark.driver.extraClassPath"] = os.pathsep.join(map(str, jars))
    master = _default_master()
    return {
        MASTER: master,
        **_files_settings({MASTER: master, **asked}),
        **_ESSENTIAL,
        EXTENSIONS: DELTA_EXTENSION,
        **settings,
        **asked,
        **FORCED,
    }


def is_local(master: str) -> bool:
    """Whether the master is this machine. local-cluster, which starts workers, is local, too."""
    return master.split("[")[0] in ("local", "local-cluster")


def offline_jars() -> str | None:
    """The folder that the user has named for jars; None where no folder is named."""
    return os.environ.get("KRAFTLAKE_JARS") or read_defaults(conf_directory()).jars_dir


def scratch_warehouse() -> str:
    """A folder that is deleted when the process ends. Spark needs a warehouse; tables are in lakes,
    never in the current folder."""
    return Path(folder_of_this_process("kraftlake-warehouse-")).as_uri()


def folder_of_this_process(prefix: str) -> str:
    """A new folder that only its owner can read, and that is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _default_master() -> str:
    defaults = read_defaults(conf_directory())
    cores = max(1, min(os.cpu_count() or 1, defaults.cores_max))
    return defaults.master or f"local[{cores}]"


def _files_settings(given: Mapping[str, str]) -> dict[str, str]:
    """The settings of conf/ for the given master."""
    conf_dir: Folder | None = conf_directory()
    if conf_dir is None:
        return {}
    settings = read_properties(conf_dir / "spark-defaults.conf")
    if is_local(given[MASTER]):
        settings |= read_properties(conf_dir / "spark-local.conf")
    for side in ("driver", "executor"):
        if _names_collector(given.get(f"spark.{side}.extraJavaOptions", "")):
            settings.pop(f"spark.{side}.defaultJavaOptions", None)
    return settings


def _names_collector(options: str) -> bool:
    """Whether these options, or the environment, name a garbage collector for the JVM. The JVM
    refuses to start with two collectors."""
    variables = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
    everything = " ".join((options, *(os.environ.get(name, "") for name in variables)))
    return _COLLECTOR.search(everything) is not None
