"""Jars that the Ivy inside pyspark fetches once from Maven Central into the user's cache."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

import pytest

from pipelines.spark.jar_sets import cache_dir
from pipelines.spark.java import find_java
from replica.errors import UsageError

_FETCH_TIMEOUT_S = 600


@dataclass(frozen=True)
class Jar:
    """A jar. with_closure: whether to fetch everything that it needs at run time."""

    organisation: str
    name: str
    revision: str
    with_closure: bool = True

    @property
    def dependency(self) -> str:
        conf = "runtime,master" if self.with_closure else "master"
        return (
            f'<dependency org="{self.organisation}" name="{self.name}" rev="{self.revision}" '
            f'conf="default->{conf}"/>'
        )


@dataclass(frozen=True)
class Jars:
    """Jars that are used together."""

    name: str
    version: str
    jars: tuple[Jar, ...]

    @property
    def folder(self) -> Path:
        """The folder of the jars. Its name is a hash of their list, so another list has another
        folder."""
        checksum = crc32(self._module.encode())
        return cache_dir("jars", f"{self.name}-{self.version}-{checksum:08x}")

    def fetched(self) -> Path:
        """Fetches the jars and gives their folder. Raises CalledProcessError or TimeoutExpired
        where they can't be fetched."""
        folder = self.folder
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as work:
                fetched = _fetch(Path(work), self._module)
                if not folder.is_dir():  # another process may have been faster
                    fetched.rename(folder)
        return folder

    @property
    def _module(self) -> str:
        """The module that Ivy fetches."""
        return f"""<ivy-module version="2.0">
  <info organisation="kraftlake" module="{self.name}"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{"".join(jar.dependency for jar in self.jars)}</dependencies>
</ivy-module>
"""


def or_skip(fetch: Callable[[], str], what: str) -> str:
    """The result of `fetch`. Without Java or a network the test is skipped, because what it tests
    isn't wrong."""
    try:
        return fetch()
    except UsageError as error:
        pytest.skip(str(error))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(f"{what}'s jars are not in the cache, and Maven Central is out of reach")


def _fetch(work: Path, module: str) -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (ivy,) = (Path(spec.origin).parent / "jars").glob("ivy-*.jar")
    settings, asked, jars = work / "ivysettings.xml", work / "ivy.xml", work / "jars"
    settings.write_text(
        '<ivysettings><settings defaultResolver="only"/>'
        f'<caches defaultCacheDir="{work}/ivy"/>'
        '<resolvers><ibiblio name="only" m2compatible="true"/></resolvers></ivysettings>'
    )
    asked.write_text(module)
    subprocess.run(
        [
            str(find_java().executable),
            f"-Divy.default.ivy.user.dir={work}/ivy-user",
            "-jar",
            str(ivy),
            "-settings",
            str(settings),
            "-ivy",
            str(asked),
            # scala-logging and snappy-java are bundles
            "-confs",
            "default",
            "-types",
            "jar",
            "bundle",
            "-warn",
            "-retrieve",
            f"{jars}/[artifact]-[revision].[ext]",
        ],
        check=True,
        timeout=_FETCH_TIMEOUT_S,
        stdout=subprocess.DEVNULL,
    )
    return jars
