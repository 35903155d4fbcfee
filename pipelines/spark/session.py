"""The only place that builds a SparkSession.

A session begins in one of three ways, and what is already decided is never changed:

- running: the process has a context already; only session settings that are absent are added;
- submitted: spark-submit started the JVM; its properties win, the rest is filled in, and Delta's
  jars are added unless `--jars`, `--packages` or the cluster has them;
- own: we start the JVM, with the Java and the jars that pipelines.spark.java and
  pipelines.spark.jars find.

The order in which settings win: `extra_conf`; those of spark-submit, or of the spark-defaults.conf
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from pipelines.conf_files import Folder, conf_directory, read_defaults, read_properties
from pipelines.object_store import is_s3, s3a_settings
from pipelines.runners.chosen import is_submitted
from pipelines.spark.java import find_java
from pipelines.spark.jvm import launch, own_interrupts
from pipelines.spark.session_jars import add_jars, bring_jars, check_installed, has_s3a, jars_for
from replica.errors import UsageError
from replica.import_path import is_current_folder_left_out

_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_LAKE = "spark.kraftlake.lake"
_EXTENSIONS = "spark.sql.extensions"
_HADOOP = "spark.hadoop."
_MASTER = "spark.master"
WAREHOUSE = "spark.sql.warehouse.dir"

# For every master: without these the tables or their times would be wrong.
_ESSENTIAL = {
    "spark.sql.catalog.spark_catalog": _DELTA_CATALOG,
    "spark.sql.catalogImplementation": "in-memory",  # Hive's would drop metastore_db into the cwd
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.showConsoleProgress": "false",  # it overwrites our own lines on stderr
}
# Never the user's to change: every time in the lake is UTC, and SQL renders it in this zone.
_FORCED = {"spark.sql.session.timeZone": "UTC"}

_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")


def spark_session(
    app_name: str,
    *,
    lake: str | os.PathLike[str] | None = None,
    extra_conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session that reads and writes Delta, with times in UTC; the running session where there is
    one.

    lake: recorded as spark.kraftlake.lake, so that event logs and bug reports show the lake.
    extra_conf: settings, as those of spark-submit's --conf. Raises UsageError where Java 17+ is
    missing, where there are neither jars nor a network, for a running session without Delta, and
    for another release of Spark or Delta than this code needs."""
    check_installed()
    asked = dict(extra_conf or {})
    if lake is not None:
        asked[_LAKE] = os.fspath(lake)
    in_s3 = is_s3(asked.get(_LAKE, ""))
    if _active_context() is not None:
        return _adopt(asked, in_s3=in_s3)
    conf_dir = conf_directory()
    defaults = read_defaults(conf_dir)
    given = s3a_settings() | _given() if in_s3 else _given()
    given.update(asked)
    given.setdefault(_MASTER, defaults.master or f"local[{_cores(defaults.cores_max)}]")
    settings = _settings(app_name, given, conf_dir)
    offline = os.environ.get("KRAFTLAKE_JARS") or defaults.jars_dir
    if SparkContext._gateway is not None:  # spark-submit's JVM, or a stopped session's
        bring_jars(settings, offline, in_s3=in_s3)
    else:
        add_jars(settings, jars_for(settings, offline, in_s3=in_s3))
    if is_submitted():
        environment = {} if "PYSPARK_PYTHON" in os.environ else _interpreter(settings)
        with _environment(environment), own_interrupts():
            return SparkSession.builder.config(map=dict(settings)).getOrCreate()
    return _start(settings, conf_dir)


def is_running() -> bool:
    """Whether this process has a session already."""
    return _active_context() is not None


def check_startable() -> None:
    """Raises UsageError where a session can't start because Java, Spark or Delta is missing. It is
    fast, and starts no session."""
    check_installed()
    if _active_context() is None and SparkContext._gateway is None and not is_submitted():
        find_java()


def client_settings(asked: Mapping[str, str]) -> dict[str, str]:
    """The settings with which other programs of Spark on this machine read a lake as spark_session
    does.

    asked: the caller's own, which win over conf/spark-defaults.conf. Delta's jars are those that
    pipelines.spark.jars finds.
    """
    conf_dir = conf_directory()
    defaults = read_defaults(conf_dir)
    settings: dict[str, str] = {}
    offline = os.environ.get("KRAFTLAKE_JARS") or defaults.jars_dir
    jars = jars_for(settings, offline, in_s3=False)
    add_jars(settings, jars)
    # the Thrift server's sessions know no class but those that the JVM started with
    settings["spark.driver.extraClassPath"] = os.pathsep.join(map(str, jars))
    master = defaults.master or f"local[{_cores(defaults.cores_max)}]"
    return {
        _MASTER: master,
        **_files_settings(conf_dir, {_MASTER: master, **asked}),
        **_ESSENTIAL,
        _EXTENSIONS: _DELTA_EXTENSION,
        **settings,
        **asked,
        **_FORCED,
    }


def _active_context() -> SparkContext | None:
    # pyspark has no public way to ask without creating one.
    return SparkContext._active_spark_context


def _given() -> dict[str, str]:
    """The settings that spark-submit, or the user's own Spark folder, has made already."""
    if is_submitted():
        SparkContext.getSystemProperty("SPARK_SUBMIT")  # connects, or SparkConf would be empty
        return dict(SparkConf().getAll())
    own = os.environ.get("SPARK_CONF_DIR")
    return read_properties(Path(own) / "spark-defaults.conf") if own else {}


def _cores(most: int) -> int:
    return max(1, min(os.cpu_count() or 1, most))


def _is_local(settings: Mapping[str, str]) -> bool:
    return settings[_MASTER].split("[")[0] in ("local", "local-cluster")


def _files_settings(conf_dir: Folder | None, given: Mapping[str, str]) -> dict[str, str]:
    """The settings of conf/ for the given master."""
    if conf_dir is None:
        return {}
    settings = read_properties(conf_dir / "spark-defaults.conf")
    if _is_local(given):
        settings |= read_properties(conf_dir / "spark-local.conf")
    for side in ("driver", "executor"):
        if _names_collector(given.get(f"spark.{side}.extraJavaOptions", "")):
            settings.pop(f"spark.{side}.defaultJavaOptions", None)
    return settings


def _settings(app_name: str, given: Mapping[str, str], conf_dir: Folder | None) -> dict[str, str]:
    settings = {"spark.app.name": app_name, **_ESSENTIAL, **_files_settings(conf_dir, given)}
    if _is_local(given):
        if is_current_folder_left_out():
            settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"  # also where spark-submit began
        settings["spark.pyspark.python"] = sys.executable
        settings["spark.pyspark.driver.python"] = sys.executable
    settings |= given
    settings |= _FORCED
    extensions = [name for name in settings.get(_EXTENSIONS, "").split(",") if name]
    if _DELTA_EXTENSION not in extensions:
        extensions.append(_DELTA_EXTENSION)
    settings[_EXTENSIONS] = ",".join(extensions)
    if WAREHOUSE not in settings:
        settings[WAREHOUSE] = scratch_warehouse()
    return settings


def _names_collector(options: str) -> bool:
    """Whether these options, or the environment, name a garbage collector for the JVM: it refuses
    to start with two of them."""
    variables = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
    everything = " ".join((options, *(os.environ.get(name, "") for name in variables)))
    return _COLLECTOR.search(everything) is not None


def scratch_warehouse() -> str:
    """A folder that is deleted when the process ends. Spark needs one; tables are in lakes, never
    in the caller's cwd."""
    return Path(folder_of_this_process("kraftlake-warehouse-")).as_uri()


def _adopt(asked: Mapping[str, str], *, in_s3: bool) -> SparkSession:
    """The running session, with times in UTC; its other settings stay as they are."""
    session = SparkSession.builder.getOrCreate()
    if _DELTA_EXTENSION not in (session.conf.get(_EXTENSIONS, "") or ""):
        raise UsageError(
            "a Spark session without Delta is running in this process: stop it, or start it by "
            "pipelines.spark.session.spark_session."
        )
    for key, value in asked.items():
        if session.conf.get(key, None) is None and session.conf.isModifiable(key):
            session.conf.set(key, value)
    forced = {key: asked[key] for key in asked if key == _LAKE} | _FORCED
    for key, value in forced.items():
        session.conf.set(key, value)
    if in_s3:
        _adopt_s3a(session)
    return session


def _adopt_s3a(session: SparkSession) -> None:
    """Sets, for this session, the settings of s3a that the context lacks. Hadoop's readers see
    them."""
    if not has_s3a(SparkContext._jvm):
        raise UsageError(
            "the Spark session that runs in this process can't read S3: start it with the jars "
            "that `python -P -m pipelines.spark.jars --s3` prints."
        )
    said = session.sparkContext.getConf()
    for key, value in s3a_settings().items():
        if key.startswith(_HADOOP) and not said.contains(key):
            session.conf.set(key.removeprefix(_HADOOP), value)


def _start(settings: Mapping[str, str], conf_dir: Folder | None) -> SparkSession:
    """Starts the JVM, then the context in it. A stopped session's JVM is used again."""
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    with _environment(_jvm_environment(settings, conf_dir)):
        gateway = SparkContext._gateway or launch(conf)
        with own_interrupts():
            SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


def _jvm_environment(settings: Mapping[str, str], conf_dir: Folder | None) -> dict[str, str]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    wanted = {
        "JAVA_HOME": str(find_java().home),
        # A SPARK_HOME of another release would start another Spark than this pyspark's.
        "SPARK_HOME": str(Path(spec.origin).parent),
    }
    if isinstance(conf_dir, Path) and not os.environ.get("SPARK_CONF_DIR"):
        wanted["SPARK_CONF_DIR"] = str(conf_dir)  # how the JVM finds log4j2.properties
    if _is_local(settings):
        wanted["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        if "spark.local.dir" not in settings and "SPARK_LOCAL_DIRS" not in os.environ:
            # Spark writes rows there that it moves or has no memory for, with the umask's rights
            wanted["SPARK_LOCAL_DIRS"] = folder_of_this_process("kraftlake-spark-")
    return wanted | _interpreter(settings)


def _interpreter(settings: Mapping[str, str]) -> dict[str, str]:
    """The interpreter of this process: local workers import this code, so they need it.
    spark-submit alone reads the setting of that name, before it starts this process."""
    return {"PYSPARK_PYTHON": sys.executable} if _is_local(settings) else {}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables while the JVM starts, and restores the earlier ones afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def folder_of_this_process(prefix: str) -> str:
    """A new folder that only its owner can read, and that is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Sets these settings of the session, and restores the earlier values afterwards, because the
    session may be a notebook's."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
