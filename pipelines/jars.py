"""Finds Delta's two jars, and fetches them when this machine has never had them.

Looked for in this order:
1. an offline folder: `--jars-dir`, else KRAFTLAKE_JARS, else `[jars] dir` of conf/kraftlake.toml.
   A folder that is named but lacks a jar is an error: nobody who names one wants a download;
2. the cache: $XDG_CACHE_HOME/kraftlake/jars/<Delta's version>, by default below ~/.cache;
3. the network: the Ivy inside pyspark, run by plain Java with settings of our own.

Our own Ivy settings matter. Ivy's defaults ask ~/.m2 first, where a half-filled repository (a pom
without its jar) ends the search, and follow a parent pom's own repositories. Ours know one
resolver, Ivy's built-in Maven 2 one at its default root, and the two modules come without their
closure of 34 jars, which would load a second Hadoop beside pyspark's.

Every jar is held to its SHA-256, also in the cache, so a cut copy is replaced, not loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pipelines.java import find_java
from replica.errors import KraftlakeError, UsageError

DELTA_VERSION = "4.4.0"  # the jars' and the delta-spark package's: a test holds them together

_FETCH_TIMEOUT_S = 600  # 9.6 MB: even 20 KB/s is enough
_MIRROR = "KRAFTLAKE_MAVEN_MIRROR"


@dataclass(frozen=True)
class Jar:
    """One Maven artifact and what its file must hash to."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name Maven, Ivy and `--jars` all give it."""
        return f"{self.module}-{self.revision}.jar"


DELTA_JARS = (
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        DELTA_VERSION,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        DELTA_VERSION,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)


def delta_jars(jars_dir: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Absolute paths of DELTA_JARS, in that order; see the module's text for where from.

    jars_dir: an offline folder; None: KRAFTLAKE_JARS, else cache and network.
    UsageError: a jar is missing from or damaged in the offline folder, or there's no network.
    """
    offline = jars_dir or os.environ.get("KRAFTLAKE_JARS")
    if offline:
        return _offline(Path(offline))
    cache = cache_dir()
    if not all(_intact(cache / jar.file_name, jar) for jar in DELTA_JARS):
        _fetch(cache)
    return tuple(cache / jar.file_name for jar in DELTA_JARS)


def cache_dir() -> Path:
    """Where fetched jars are kept; a version has a folder of its own, so upgrades never mix."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative one.
    base = Path(root) if os.path.isabs(root) else Path(os.path.expanduser("~")) / ".cache"
    return base / "kraftlake" / "jars" / DELTA_VERSION


def _offline(folder: Path) -> tuple[Path, ...]:
    missing = [jar.file_name for jar in DELTA_JARS if not (folder / jar.file_name).is_file()]
    if missing:
        raise UsageError(
            f"{folder} lacks {' and '.join(missing)}{_what_it_has(folder)}: copy it there from a "
            "machine that has it (`python -m pipelines.jars` prints where), or unset "
            "KRAFTLAKE_JARS / --jars-dir to download it."
        )
    for jar in DELTA_JARS:
        if not _intact(folder / jar.file_name, jar):
            raise UsageError(
                f"{folder / jar.file_name} is damaged or another build (its SHA-256 is not "
                f"{jar.sha256[:12]}...): copy it again."
            )
    return tuple((folder / jar.file_name).resolve() for jar in DELTA_JARS)


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


def _fetch(cache: Path) -> None:
    """Downloads into a folder beside the cache's, checks, then renames file by file.

    Two processes may do so at once: a rename is atomic, and both bring the same bytes.
    """
    java = find_java()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # On the cache's own file system, or the rename would be a copy.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache.parent) as work:
            sys.stderr.write(
                f"kraftlake: fetching Delta {DELTA_VERSION}'s two jars (10 MB, once) to {cache}\n"
            )
            retrieved = _run_ivy(java.executable, Path(work))
            for jar in DELTA_JARS:
                if not _intact(retrieved / jar.file_name, jar):
                    raise _offline_advice(f"{jar.file_name} came damaged or not at all")
                os.replace(retrieved / jar.file_name, cache / jar.file_name)
    except OSError as error:
        raise UsageError(
            f"cannot write the jar cache {cache} ({error.strerror}): set XDG_CACHE_HOME to a "
            f"writable folder, or KRAFTLAKE_JARS to one that holds {_names()}."
        ) from error


def _run_ivy(java: Path, work: Path) -> Path:
    """Runs Ivy with everything it keeps inside `work`; returns the folder with the jars."""
    settings = work / "ivysettings.xml"
    settings.write_text(_ivy_settings(work / "cache"), encoding="utf-8")
    module = work / "ivy.xml"
    module.write_text(_ivy_module(), encoding="utf-8")
    retrieved = work / "jars"
    command = [
        str(java),
        f"-Divy.default.ivy.user.dir={work / 'user'}",  # or it makes ~/.ivy2
        *("-jar", str(_ivy_jar())),
        *("-settings", str(settings)),
        *("-ivy", str(module)),
        *("-confs", "default"),
        *("-types", "jar"),
        *("-retrieve", f"{retrieved}/[artifact]-[revision].[ext]"),
        "-notransitive",
        "-warn",
    ]
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
        raise _offline_advice(f"no answer within {_FETCH_TIMEOUT_S} s") from error
    if ran.returncode != 0:
        raise _offline_advice(_ivy_reason(ran.stdout + ran.stderr))
    return retrieved


def _ivy_reason(output: str) -> str:
    """The one line of Ivy's report that says why, else that it gave none."""
    lines = [line.strip() for line in output.splitlines()]
    for mark in ("Server access error", "Exception", "module not found", "Unable to"):
        for line in lines:
            if mark in line:
                return line
    return "Ivy gave no reason"


def _offline_advice(reason: str) -> KraftlakeError:
    return UsageError(
        f"cannot download Delta's jars ({reason}): without a network, copy {_names()} into a "
        f"folder and set KRAFTLAKE_JARS to it; behind a mirror, set {_MIRROR} to its Maven URL."
    )


def _names() -> str:
    return " and ".join(jar.file_name for jar in DELTA_JARS)


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise UsageError("pyspark is not installed: pip install 'kraftlake[lake]'.")
    jars = Path(spec.origin).parent / "jars"
    found = sorted(jars.glob("ivy-*.jar"))
    if not found:
        raise UsageError(f"{jars} has no ivy-*.jar: install pyspark again, it is incomplete.")
    return found[-1]


def _ivy_settings(ivy_cache: Path) -> str:
    """One resolver. Without a root it is Maven's public repository, by Ivy's own default."""
    mirror = os.environ.get(_MIRROR)
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        "<ivysettings>\n"
        '  <settings defaultResolver="only"/>\n'
        f"  <caches defaultCacheDir={quoteattr(str(ivy_cache))}/>\n"
        f'  <resolvers><ibiblio name="only" m2compatible="true"{root}/></resolvers>\n'
        "</ivysettings>\n"
    )


def _ivy_module() -> str:
    """A module that depends on the jars alone: `master` is a pom's jar without its runtime.

    A mirror that holds jars without poms has no `master`, only `default`.
    """
    dependencies = "".join(
        f'    <dependency org="{jar.organisation}" name="{jar.module}" rev="{jar.revision}" '
        'conf="default->master(default)" transitive="false"/>\n'
        for jar in DELTA_JARS
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="kraftlake" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}  </dependencies>\n"
        "</ivy-module>\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m pipelines.jars`: prints what `spark-submit --jars` takes; exit 0, or 2."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.jars", description=main.__doc__)
    parser.add_argument("--jars-dir", help="an offline folder that holds the jars")
    options = parser.parse_args(arguments)
    try:
        paths = delta_jars(options.jars_dir)
    except KraftlakeError as error:
        sys.stderr.write(f"kraftlake: {error}\n")
        return 2
    sys.stdout.write(",".join(map(str, paths)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
