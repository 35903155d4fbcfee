"""The jars that a session lacks: Delta's jars, and for a lake in S3 the jars of s3a.

Releases of Spark and Delta that this code isn't written for are refused by their names, before
anything starts. Most of them would start, and fail later because a Java class or method doesn't
exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext

from pipelines.spark.jar_sets import JarSet
from pipelines.spark.jars import DELTA, DELTA_JARS, DELTA_VERSION, jar_paths
from pipelines.spark.s3a_jars import S3A
from replica.errors import UsageError
from replica.installation import line_that_adds
from replica.shell_text import line

SPARK_VERSION = "4.2"
"""The feature release of Spark. A test compares it with pyproject.toml's."""

# A jar's name, or a Maven coordinate of --packages. It has the module, with Scala's version and,
# from Delta 4.1 on, before that Spark's; then Delta's version.
_NAMED = re.compile(r"(delta-(?:core|spark)_[0-9._]+)[-:]([0-9][0-9A-Za-z.]*?)(?=\.jar\b|[,!]|$)")


def check_installed() -> None:
    """Raises UsageError where the Python package pyspark or delta-spark is of another release than
    kraftlake needs. A delta-spark without metadata is not checked here."""
    spark = pyspark.__version__
    if not f"{spark}.".startswith(f"{SPARK_VERSION}."):
        raise UsageError(
            f"this Python has pyspark {spark}, kraftlake needs {SPARK_VERSION}: "
            f"{line_that_adds('lake')}, or, "
            f"by spark-submit, submit with a Spark {SPARK_VERSION}"
        )
    try:
        delta = version("delta-spark")
    except PackageNotFoundError:
        return  # --packages brings it without metadata; names_delta checks its jar
    if delta != DELTA_VERSION:
        raise UsageError(
            f"this Python has delta-spark {delta}, kraftlake needs {DELTA_VERSION}: "
            f"{line_that_adds('lake')}"
        )


def names_delta(named: Iterable[str]) -> bool:
    """Whether a jar of Delta is among the names: file names, paths, URLs, Maven coordinates, or
    several of these with commas between them.

    Raises UsageError where a jar is of another Delta, or made for another Spark or Scala.
    """
    ours = DELTA_JARS[0]
    found = [match for text in named for match in _NAMED.findall(text)]
    for module, revision in found:
        if (module, revision) != (ours.module, ours.revision):
            raise UsageError(
                f"{module}-{revision} is another Delta than kraftlake's: take "
                f"{' and '.join(jar.file_name for jar in DELTA_JARS)}, or name none and they are "
                "found or fetched"
            )
    return bool(found)


_JARS = "spark.jars"
_NAMING = (_JARS, "spark.driver.extraClassPath", "spark.jars.packages")


@dataclass(frozen=True)
class _Need:
    """A set of jars that a session needs."""

    jars: JarSet
    is_among: Callable[[Iterable[str]], bool]
    """Whether names of files, URLs or Maven coordinates name the set's main jar. Raises UsageError
    where they name the jar of another release."""
    main_class: str
    """A class in the set."""

    def is_named(self, settings: Mapping[str, str]) -> bool:
        """Whether the settings name the set themselves."""
        return self.is_among(settings.get(key, "") for key in _NAMING)

    def is_in(self, loader: Any) -> bool:
        """Whether a JVM has the set on its class path."""
        found = loader.getResource(self.main_class.replace(".", "/") + ".class")
        if found is None:
            return False
        self.is_among([found.toString()])
        return True


def _names_s3a(named: Iterable[str]) -> bool:
    return any("hadoop-aws" in one for one in named)


_DELTA = _Need(DELTA, names_delta, "org.apache.spark.sql.delta.catalog.DeltaCatalog")
_S3A = _Need(S3A, _names_s3a, "org.apache.hadoop.fs.s3a.S3AFileSystem")


def jars_for(
    settings: Mapping[str, str], offline: str | os.PathLike[str] | None, *, in_s3: bool
) -> list[Path]:
    """The jars that a JVM lacks if it starts with these settings. offline: a folder, as in
    pipelines.spark.jars."""
    needs = [need for need in _needs(in_s3) if not need.is_named(settings)]
    return [path for need in needs for path in jar_paths(need.jars, offline)]


def add_jars(settings: dict[str, str], paths: Sequence[Path]) -> None:
    """Adds the paths to the jars that the settings name."""
    if paths:
        before = [name for name in settings.get(_JARS, "").split(",") if name]
        settings[_JARS] = ",".join([*before, *map(str, paths)])


def bring_jars(
    settings: dict[str, str], offline: str | os.PathLike[str] | None, *, in_s3: bool
) -> None:
    """Adds the jars that a running JVM lacks.

    `spark.jars` alone would only reach the executors, because the driver's class path is made
    before Python starts. So this function also adds the jars to the driver's class loader. Raises
    UsageError where that loader takes no jars.
    """
    jvm = SparkContext._jvm
    assert jvm is not None, "spark-submit's JVM is connected by _given()"
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    needs = [need for need in _needs(in_s3) if not need.is_in(loader)]
    paths = [path for need in needs for path in jar_paths(need.jars, offline)]
    if paths and not hasattr(loader, "addURL"):
        names = " and ".join(need.jars.name for need in needs)
        added = line("--jars", ",".join(map(str, paths)))
        raise UsageError(f"spark-submit lacks {names} jars: add {added}")
    for path in paths:
        loader.addURL(jvm.java.net.URI.create(path.as_uri()).toURL())
    add_jars(settings, paths)


def has_s3a(jvm: Any) -> bool:
    """Whether a running JVM can read S3."""
    return _S3A.is_in(jvm.java.lang.Thread.currentThread().getContextClassLoader())


def _needs(in_s3: bool) -> tuple[_Need, ...]:
    return (_DELTA, _S3A) if in_s3 else (_DELTA,)
