"""The only place that builds a SparkSession.

A session begins in one of four ways, and what is already decided is never changed:

- running: the process has a session already; only session settings that are absent are added;
- connected: SPARK_REMOTE or the setting spark.remote names a server of Spark Connect, by whose
  settings and jars everything runs;
- submitted: spark-submit started the JVM; its properties win, the rest is filled in, and Delta's
  jars are added unless `--jars`, `--packages` or the cluster has them;
- own: we start the JVM, with the Java and the jars that pipelines.spark.java and
  pipelines.spark.jars find.

pipelines.spark.settings has the settings, and the order in which they win.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from pipelines.conf_files import conf_directory, read_properties
from pipelines.object_store import is_s3, s3a_settings
from pipelines.runners.chosen import is_submitted
from pipelines.spark.connect import connected, remote_address
from pipelines.spark.java import find_java
from pipelines.spark.jvm import launch, own_interrupts, say_java, stop_hadoop_metrics
from pipelines.spark.session_jars import add_jars, bring_jars, check_installed, has_s3a, jars_for
from pipelines.spark.settings import (
    DELTA_EXTENSION,
    EXTENSIONS,
    FORCED,
    MASTER,
    folder_of_this_process,
    is_local,
    offline_jars,
    session_settings,
)
from replica.errors import UsageError

_LAKE = "spark.kraftlake.lake"
_HADOOP = "spark.hadoop."


def spark_session(
    app_name: str,
    *,
    lake: str | os.PathLike[str] | None = None,
    extra_conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session that reads and writes Delta, with times in UTC. Where a session is running, that
    session is returned.

    lake: recorded as spark.kraftlake.lake, so that event logs and bug reports show the lake.
    extra_conf: settings, as with spark-submit's --conf. Raises UsageError where Java 17+ is
    missing, where there are neither jars nor a network, for a running session without Delta, for a
    server that can't be reached, and for another release of Spark or Delta than this code needs.
    """
    check_installed()
    asked = dict(extra_conf or {})
    if lake is not None:
        asked[_LAKE] = os.fspath(lake)
    in_s3 = is_s3(asked.get(_LAKE, ""))
    address = remote_address(asked)
    if address is not None:
        return _adopt(connected(address, app_name), asked)
    if is_running():
        session = _adopt(SparkSession.builder.getOrCreate(), asked)
        if in_s3:
            _adopt_s3a(session)
        return session
    given = s3a_settings() | _given() if in_s3 else _given()
    settings = session_settings(app_name, given | asked)
    if SparkContext._gateway is not None:  # spark-submit's JVM, or a stopped session's
        bring_jars(settings, offline_jars(), in_s3=in_s3)
    else:
        add_jars(settings, jars_for(settings, offline_jars(), in_s3=in_s3))
    session = _join(settings) if is_submitted() else _start(settings)
    say_java(SparkContext._jvm)
    return session


def is_running() -> bool:
    """Whether this process has a session already, its own or spark-submit's. pyspark has no public
    way to ask this without creating a session."""
    return SparkContext._active_spark_context is not None


def check_startable() -> None:
    """Raises UsageError where a session can't start because Java, Spark or Delta is missing. It is
    fast, and starts no session."""
    check_installed()
    others = is_running() or SparkContext._gateway is not None or is_submitted()
    if not others and remote_address({}) is None:
        find_java()


def _given() -> dict[str, str]:
    """The settings that spark-submit, or the user's own Spark folder, has already set."""
    if is_submitted():
        # this connects; without it SparkConf is empty
        SparkContext.getSystemProperty("SPARK_SUBMIT")
        return dict(SparkConf().getAll())
    own = os.environ.get("SPARK_CONF_DIR")
    return read_properties(Path(own) / "spark-defaults.conf") if own else {}


def _adopt(session: SparkSession, asked: Mapping[str, str]) -> SparkSession:
    """A session that other code made. It gets the settings in FORCED, such as times in UTC, and
    the lake of `asked`. It gets another setting of `asked` only where it has none. Raises
    UsageError for a session without Delta."""
    if DELTA_EXTENSION not in (session.conf.get(EXTENSIONS, "") or ""):
        raise UsageError(
            "a Spark session without Delta is running in this process or on the server: stop it, "
            "or start it by pipelines.spark.session.spark_session."
        )
    for key, value in asked.items():
        if session.conf.get(key, None) is None and session.conf.isModifiable(key):
            session.conf.set(key, value)
    forced = {key: asked[key] for key in asked if key == _LAKE} | FORCED
    for key, value in forced.items():
        session.conf.set(key, value)
    return session


def _adopt_s3a(session: SparkSession) -> None:
    """Sets, for this session, the settings of s3a that the context lacks. Hadoop's readers see
    these settings. Raises UsageError where the JVM lacks the jars of s3a."""
    if not has_s3a(SparkContext._jvm):
        raise UsageError(
            "the Spark session that runs in this process can't read S3: start it with the jars "
            "that `python -P -m pipelines.spark.jars --s3` prints."
        )
    said = session.sparkContext.getConf()
    for key, value in s3a_settings().items():
        if key.startswith(_HADOOP) and not said.contains(key):
            session.conf.set(key.removeprefix(_HADOOP), value)


def _join(settings: Mapping[str, str]) -> SparkSession:
    """A session in spark-submit's JVM."""
    environment = {} if "PYSPARK_PYTHON" in os.environ else _interpreter(settings)
    stop_hadoop_metrics(SparkContext._jvm)
    with _environment(environment), own_interrupts():
        return SparkSession.builder.config(map=dict(settings)).getOrCreate()


def _start(settings: Mapping[str, str]) -> SparkSession:
    """Starts the JVM, then the context in it. The JVM of a stopped session is used again."""
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    with _environment(_jvm_environment(settings)):
        gateway = SparkContext._gateway or launch(conf)
        stop_hadoop_metrics(gateway.jvm)
        with own_interrupts():
            SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


def _jvm_environment(settings: Mapping[str, str]) -> dict[str, str]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    wanted = {
        "JAVA_HOME": str(find_java().home),
        # A SPARK_HOME of another release would start another Spark than pyspark's.
        "SPARK_HOME": str(Path(spec.origin).parent),
    }
    conf_dir = conf_directory()
    if isinstance(conf_dir, Path) and not os.environ.get("SPARK_CONF_DIR"):
        wanted["SPARK_CONF_DIR"] = str(conf_dir)  # the JVM finds log4j2.properties by it
    if is_local(settings[MASTER]):
        wanted["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        if "spark.local.dir" not in settings and "SPARK_LOCAL_DIRS" not in os.environ:
            # Spark moves rows there, or writes rows there that don't fit in memory, with the
            # umask's rights
            wanted["SPARK_LOCAL_DIRS"] = folder_of_this_process("kraftlake-spark-")
    return wanted | _interpreter(settings)


def _interpreter(settings: Mapping[str, str]) -> dict[str, str]:
    """The variable PYSPARK_PYTHON for local workers: they import this code, so they need this
    process's interpreter. Only spark-submit reads the setting spark.pyspark.python, before it
    starts this process."""
    return {"PYSPARK_PYTHON": sys.executable} if is_local(settings[MASTER]) else {}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables while the JVM starts, and restores the earlier values
    afterwards."""
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
