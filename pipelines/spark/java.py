"""Finds the Java that Spark and Ivy run on.

The candidates are JAVA_HOME's, then PATH's; the first that is new enough wins, so that an old
JAVA_HOME of another tool does no harm while a good Java is on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from replica.errors import UsageError

MIN_JAVA = 17  # Spark 4's own minimum

_PROBE_TIMEOUT_S = 60  # a JVM starts in 0.1 s; a minute tells a hung one from a busy machine
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # Java 8 calls itself 1.8
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java that was run. home: the value for JAVA_HOME. version: the feature release,
    such as 17."""

    executable: Path
    home: Path
    version: int


def find_java() -> Java:
    """The first Java of MIN_JAVA or newer. Raises UsageError, which names what was found, where
    there is none."""
    refused: list[str] = []
    for origin, executable in _candidates():
        java = _probe(executable)
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
        f"Java {MIN_JAVA} or newer is needed: {found}. "
        f"Install a JDK or JRE {MIN_JAVA}+ and set JAVA_HOME to it or put it on PATH."
    )


def _candidates() -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", Path(on_path)))
    return found


def _probe(executable: Path) -> Java | None:
    """Runs the executable, the only way to learn its version. None where it is absent, broken, or
    no Java."""
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own JAVA_HOME or PATH
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
    return Java(executable, Path(home.group(1).strip()), int(version.group(1)))
