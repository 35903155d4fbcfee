"""Kafka's jars, fetched once from Maven Central by the Ivy inside pyspark into the user's cache:
controller and broker, the command-line tools, the metadata shell, and a logger to stderr.

VERSION is what all tests use; OLDER_VERSION is of Kafka's last line with ZooKeeper."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

import pytest

from pipelines.jars import cache_dir
from pipelines.java import find_java
from replica.errors import UsageError

VERSION, OLDER_VERSION = "4.1.1", "3.9.1"
_FETCH_TIMEOUT_S = 600


def class_path(version: str = VERSION) -> str:
    """Kafka's jars as a Java class path; CalledProcessError where they can't be fetched."""
    folder = jar_folder(version)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as work:
            fetched = _fetch(Path(work), version)
            if not folder.is_dir():  # another process may have been faster
                fetched.rename(folder)
    return f"{folder}/*"


def class_path_or_skip(version: str = VERSION) -> str:
    """The same for a test; without Java or a network the test is skipped, as nothing is wrong with
    what it tests."""
    try:
        return class_path(version)
    except UsageError as error:
        pytest.skip(str(error))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(
            f"Kafka {version}'s jars are not in the cache, and Maven Central is out of reach"
        )


def jar_folder(version: str) -> Path:
    """Where a version's jars are kept. It is named after the list of them: another list is another
    folder."""
    return cache_dir().parent / f"kafka-{version}-{crc32(_module(version).encode()):08x}"


def _module(version: str) -> str:
    """What Ivy is asked for."""
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->runtime,master"/>'
        for org, name, rev in (
            ("org.apache.kafka", "kafka_2.13", version),
            ("org.apache.kafka", "kafka-tools", version),
            ("org.apache.kafka", "kafka-shell", version),
            ("org.slf4j", "slf4j-simple", "1.7.36"),
        )
    )
    return f"""<ivy-module version="2.0">
  <info organisation="kraftlake" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""


def _fetch(work: Path, version: str) -> Path:
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
    module.write_text(_module(version))
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
