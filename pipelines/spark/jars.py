"""Finds the jars that pyspark lacks, and fetches them once: Delta's two jars, and for lakes in S3
Hadoop's s3a with the parts of AWS' SDK that it needs (pipelines.spark.s3a_jars).

They are looked for in this order:

1. an offline folder: `--jars-dir`, or else KRAFTLAKE_JARS, or else `[jars] dir` of
   conf/kraftlake.toml. A named folder that lacks a jar is an error: a user who names a folder wants
   no download;
2. the cache: $XDG_CACHE_HOME/kraftlake/jars/<version>, by default below ~/.cache;
3. the network: the Ivy inside pyspark, run by plain Java with the settings of this module.

Our own Ivy settings are needed. Ivy's defaults ask ~/.m2 first, where a half-filled repository (a
pom without its jar) ends the search, and they follow a parent pom's own repositories. Our settings
have one resolver, Ivy's built-in Maven 2 resolver at its default root, and fetch the modules
without their dependencies, which would load a second Hadoop beside pyspark's.

The SHA-256 of every jar is checked, also in the cache, so an incomplete copy is replaced and not
loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pipelines.spark.jar_sets import COMMAND, Jar, JarSet, listed
from pipelines.spark.java import find_java
from pipelines.spark.s3a_jars import S3A
from replica.errors import KraftlakeError, UsageError
from replica.installation import line_that_adds
from replica.terminal_text import to_stderr, to_stdout

DELTA_VERSION = "4.4.0"  # the jars' and the delta-spark package's: a test holds them together

_FETCH_TIMEOUT_S = 600  # 9.6 MB: even 20 KB/s is enough
_MIRROR = "KRAFTLAKE_MAVEN_MIRROR"


DELTA_JARS = (
    Jar("io.delta", "delta-spark_4.2_2.13", DELTA_VERSION,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"),
    Jar("io.delta", "delta-storage", DELTA_VERSION,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
)  # fmt: skip
DELTA = JarSet("Delta's", 10, DELTA_VERSION, DELTA_JARS)


def jar_paths(wanted: JarSet, jars_dir: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Absolute paths of a set's jars, in the order of the set. The module's docstring says where
    they are looked for.

    jars_dir: an offline folder; by default that of KRAFTLAKE_JARS. Raises UsageError where a jar is
    missing from the offline folder or damaged there, and where there is no network.
    """
    offline = jars_dir or os.environ.get("KRAFTLAKE_JARS")
    if offline:
        return _offline(Path(offline), wanted)
    if not all(_intact(wanted.cache / jar.file_name, jar) for jar in wanted.jars):
        _fetch(wanted)
    return tuple(wanted.cache / jar.file_name for jar in wanted.jars)


def _offline(folder: Path, wanted: JarSet) -> tuple[Path, ...]:
    missing = [jar.file_name for jar in wanted.jars if not (folder / jar.file_name).is_file()]
    if missing:
        where = f"`{COMMAND} {wanted.option}`" if wanted.option else "`make jars`"
        raise UsageError(
            f"{folder} lacks {listed(missing)}{_what_it_has(folder)}: copy it there from a "
            f"machine that has it ({where} prints where), or unset KRAFTLAKE_JARS / --jars-dir to "
            "download it."
        )
    for jar in wanted.jars:
        if not _intact(folder / jar.file_name, jar):
            raise UsageError(
                f"{folder / jar.file_name} is damaged or another build (its SHA-256 is not "
                f"{jar.sha256[:12]}...): copy it again."
            )
    return tuple((folder / jar.file_name).resolve() for jar in wanted.jars)


def _what_it_has(folder: Path) -> str:
    if not folder.is_dir():
        return " (there is no such folder)"
    known = {jar.file_name for jar in DELTA_JARS}
    others = sorted({path.name for path in folder.glob("delta-*.jar")} - known)
    return f" (it has {', '.join(others)}, made for another release)" if others else ""


def _intact(path: Path, jar: Jar) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except OSError:
        return False


def _fetch(wanted: JarSet) -> None:
    """Downloads the jars into a folder beside the cache's folder, checks them, and then renames
    them. Raises UsageError where a jar can't be fetched, or has another hash.

    Two processes may do this at the same time: a rename is atomic, and both have the same bytes.
    """
    java, cache = find_java(), wanted.cache
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # in the cache's own file system, because a rename across file systems would be a copy
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache.parent) as work:
            to_stderr(
                f"kraftlake: fetching {wanted.name} {len(wanted.jars)} jars ({wanted.size} MB, "
                f"once) to {cache}"
            )
            retrieved = _run_ivy(java.executable, Path(work), wanted)
            for jar in wanted.jars:
                if not _intact(retrieved / jar.file_name, jar):
                    raise _offline_advice(f"{jar.file_name} came damaged or not at all", wanted)
                os.replace(retrieved / jar.file_name, cache / jar.file_name)
    except OSError as error:
        raise UsageError(
            f"cannot write the jar cache {cache} ({error.strerror}): set XDG_CACHE_HOME to a "
            f"writable folder, or KRAFTLAKE_JARS to one that holds {wanted.shown}."
        ) from error


def _run_ivy(java: Path, work: Path, wanted: JarSet) -> Path:
    """Runs Ivy, which keeps all its files inside `work`. Returns the folder with the jars."""
    settings = work / "ivysettings.xml"
    settings.write_text(_ivy_settings(work / "cache"), encoding="utf-8")
    module = work / "ivy.xml"
    module.write_text(_ivy_module(wanted), encoding="utf-8")
    retrieved = work / "jars"
    command = [
        str(java),
        f"-Divy.default.ivy.user.dir={work / 'user'}",  # otherwise Ivy makes ~/.ivy2
        "-jar", str(_ivy_jar()),
        "-settings", str(settings),
        "-ivy", str(module),
        "-confs", "default",
        "-types", "jar",
        "-retrieve", f"{retrieved}/[artifact]-[revision].[ext]",
        "-notransitive",
        "-warn",
    ]  # fmt: skip
    try:
        ran = subprocess.run(  # noqa: S603 - the Java that find_java chose
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _offline_advice(f"no answer within {_FETCH_TIMEOUT_S} s", wanted) from error
    if ran.returncode != 0:
        raise _offline_advice(_ivy_reason(ran.stdout + ran.stderr), wanted)
    return retrieved


def _ivy_reason(output: str) -> str:
    """The line of Ivy's report that has the reason; where no line has it, a text that says so."""
    lines = [line.strip() for line in output.splitlines()]
    for mark in ("Server access error", "Exception", "module not found", "Unable to"):
        for line in lines:
            if mark in line:
                return line
    return "Ivy gave no reason"


def _offline_advice(reason: str, wanted: JarSet) -> KraftlakeError:
    return UsageError(
        f"cannot download {wanted.name} jars ({reason}): without a network, copy {wanted.shown} "
        "into a folder and set KRAFTLAKE_JARS to it; behind a mirror, set "
        f"{_MIRROR} to its Maven URL."
    )


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise UsageError(f"pyspark is not installed: {line_that_adds('lake')}")
    package = Path(spec.origin).parent
    # spark-submit imports pyspark from SPARK_HOME/python/lib/pyspark.zip
    for folder in (package, *package.parents):
        if found := sorted((folder / "jars").glob("ivy-*.jar")):
            return found[-1]
    raise UsageError(
        f"{package / 'jars'} has no ivy-*.jar: install pyspark again: it is incomplete"
    )


def _ivy_settings(ivy_cache: Path) -> str:
    """Ivy's settings with one resolver: the mirror that the user has named, or else Maven's public
    repository."""
    mirror = os.environ.get(_MIRROR)
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        "<ivysettings>\n"
        '  <settings defaultResolver="only"/>\n'
        f"  <caches defaultCacheDir={quoteattr(str(ivy_cache))}/>\n"
        f'  <resolvers><ibiblio name="only" m2compatible="true"{root}/></resolvers>\n'
        "</ivysettings>\n"
    )


def _ivy_module(wanted: JarSet) -> str:
    """A module that depends on the jars only. In a pom, the configuration `master` is the jar
    without its dependencies. A mirror that has jars without poms has only `default`."""
    dependencies = "".join(
        f'    <dependency org="{jar.organisation}" name="{jar.module}" rev="{jar.revision}" '
        'conf="default->master(default)" transitive="false"/>\n'
        for jar in wanted.jars
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="kraftlake" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}  </dependencies>\n"
        "</ivy-module>\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -P -m pipelines.spark.jars`: prints the value for `spark-submit --jars`. Exits with 0
    or 2."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__)
    parser.add_argument("--jars-dir", help="an offline folder that holds the jars")
    parser.add_argument("--s3", action="store_true", help="also those for lakes in S3")
    options = parser.parse_args(arguments)
    try:
        paths = list(jar_paths(DELTA, options.jars_dir))
        if options.s3:
            paths += jar_paths(S3A, options.jars_dir)
    except KraftlakeError as error:
        to_stderr(f"kraftlake: {error}")
        return 2
    to_stdout(",".join(map(str, paths)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
