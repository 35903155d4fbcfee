"""The wheel in an environment of its own, together with only what its core needs, and no extra."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.packages.building import REPOSITORY


@dataclass(frozen=True)
class Installation:
    """A virtual environment."""

    folder: Path

    @property
    def command(self) -> Path:
        """The path of the environment's `kraftlake`."""
        return self.folder / "bin" / "kraftlake"

    @property
    def site_packages(self) -> Path:
        """The folder of the environment's packages."""
        paths = {"base": str(self.folder), "platbase": str(self.folder)}
        return Path(sysconfig.get_path("purelib", "venv", paths))

    def kraftlake(
        self, *arguments: object, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the environment's command, with no checkout on the path."""
        return self._run(self.command, arguments, cwd, variables)

    def python(
        self, *arguments: object, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the environment's interpreter."""
        return self._run(self.folder / "bin" / "python", arguments, cwd, variables)

    def _run(
        self, program: Path, arguments: Iterable[object], cwd: Path, variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        hidden = ("PYTHONPATH", "KRAFTLAKE_", "SPARK_", "PYSPARK_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        return subprocess.run(
            [program, *map(str, arguments)],
            cwd=cwd,
            env={**inherited, **variables},
            capture_output=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )


def install_core(wheel: Path, folder: Path, extra: str = "") -> Installation:
    """Installs the core by pip, without the network. The packages that the core needs come from the
    environment of the tests, and so do the packages of an extra, if one is named."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    installation = Installation(folder)
    for one in _needed({}, _requirements(extra)).values():
        for name in {file.parts[0] for file in one.files or ()} - {".."}:
            target = installation.site_packages / name
            if not target.exists():
                target.symlink_to(one.locate_file(name))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    offline = ("--quiet", "--no-index", "--disable-pip-version-check")
    subprocess.run([*pip, "install", *offline, str(wheel)], check=True)
    return installation


def _requirements(extra: str) -> list[str]:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    return [*project["dependencies"], *(project["optional-dependencies"][extra] if extra else ())]


def _needed(found: dict[str, Distribution], texts: Iterable[str]) -> dict[str, Distribution]:
    """Adds to `found`, by name, the installed packages that these requirements need, and those that
    these packages need. Gives `found`. texts: requirements (PEP 508)."""
    for requirement in map(Requirement, texts):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            _needed(found, found[requirement.name].requires or ())
    return found
