"""Kafka's jars, fetched once from Maven Central by the Ivy inside pyspark into the user's cache:
controller and broker, the command-line tools, the metadata shell, and a logger to stderr."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

import pytest

from pipelines.jars import cache_dir
from pipelines.java import find_java

VERSION = "4.1.1"
_FETCH_TIMEOUT_S = 600
_JARS = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.kafka", "kafka-shell", VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
_DEPENDENCIES = "".join(
    f'<dependency org="{org}" name="{name}" rev="{version}" conf="default->runtime,master"/>'
    for org, name, version in _JARS
)
# The folder in the cache is named after this text: another list is another folder.
_MODULE = f"""<ivy-module version="2.0">
  <info organisation="kraftlake" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{_DEPENDENCIES}</dependencies>
</ivy-module>
"""


def class_path() -> str:
    """Kafka's jars as a Java class path; CalledProcessError where they can't be fetched."""
    folder = cache_dir().parent / f"kafka-{VERSION}-{crc32(_MODULE.encode()):08x}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as work:
            fetched = _fetch(Path(work))
            if not folder.is_dir():  # another process may have been faster
                fetched.rename(folder)
    return f"{folder}/*"


def class_path_or_skip() -> str:
    """The same for a test; offline the test is skipped, as nothing is wrong with what it tests."""
    try:
        return class_path()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(
            f"Kafka {VERSION}'s jars are not in the cache, and Maven Central is out of reach"
        )


def _fetch(work: Path) -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (ivy,) = (Path(spec.origin).parent / "jars").glob("ivy-*.jar")
    settings, module, jars = work / "ivysettings.xml", work / "ivy.xml", work / "jars"
    settings.write_text(
        '<ivysettings><settings defaultResolver="only"/>'
        f'<caches defaultCacheDir="{work}/ivy"/>'
        '<resolvers><ibiblio name="only" m2compatible="true"/></resolvers></ivysettings>'
    )
    module.write_text(_MODULE)
    subprocess.run(
        [
            str(find_java().executable),
            f"-Divy.default.ivy.user.dir={work}/ivy-user",
            *("-jar", str(ivy), "-settings", str(settings), "-ivy", str(module)),
            # scala-logging and snappy-java are bundles
            *("-confs", "default", "-types", "jar", "bundle", "-warn"),
            *("-retrieve", f"{jars}/[artifact]-[revision].[ext]"),
        ],
        check=True,
        timeout=_FETCH_TIMEOUT_S,
        stdout=subprocess.DEVNULL,
    )
    return jars
