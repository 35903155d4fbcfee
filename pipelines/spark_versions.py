"""Refuses releases of Spark and Delta that this code is not written for.

Other releases mostly start, and then fail somewhere in the middle with a Java class or method that
doesn't exist. So their names are checked before anything starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import pyspark

from pipelines.jars import DELTA_JARS, DELTA_VERSION
from replica.errors import UsageError
from replica.installation import line_that_adds

SPARK_VERSION = "4.2"
"""The feature release. A test compares it with pyproject.toml's."""

# A jar's name, or a Maven coordinate of --packages: the module, with Scala's version and, from
# Delta 4.1 on, Spark's before it; then Delta's.
_DELTA = re.compile(r"(delta-(?:core|spark)_[0-9._]+)[-:]([0-9][0-9A-Za-z.]*?)(?=\.jar\b|[,!]|$)")


def check_installed() -> None:
    """Raises UsageError where the Python packages pyspark or delta-spark are of another release."""
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
        return  # shipped without its metadata, as --packages does; its jar is looked at
    if delta != DELTA_VERSION:
        raise UsageError(
            f"this Python has delta-spark {delta}, kraftlake needs {DELTA_VERSION}: "
            f"{line_that_adds('lake')}"
        )


def names_delta(named: Iterable[str]) -> bool:
    """Whether a jar of Delta is among the names: file names, paths, URLs, Maven coordinates, or
    several of them with commas between.

    Raises UsageError where one is of another Delta, or made for another Spark or Scala.
    """
    ours = DELTA_JARS[0]
    found = [match for text in named for match in _DELTA.findall(text)]
    for module, revision in found:
        if (module, revision) != (ours.module, ours.revision):
            raise UsageError(
                f"{module}-{revision} is another Delta than kraftlake's: take "
                f"{' and '.join(jar.file_name for jar in DELTA_JARS)}, or name none and they are "
                "found or fetched"
            )
    return bool(found)
