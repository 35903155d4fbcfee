"""The wheel by what people install it with: uvx, uv tool and pipx; twine has no fault to find.

Needs the network: uv, pipx and twine come from the index with the lock's hashes, and so does what
the core needs.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packages.building import REPOSITORY

pytestmark = pytest.mark.slow
_LOCK = REPOSITORY / "packaging" / "installers" / "requirements.lock"
_NODE = "kafka-3.7.2-static/split/2"


@dataclass(frozen=True)
class Installers:
    """programs: the folder of uvx, pipx and twine. home: of a user who never ran any of them."""

    programs: Path
    home: Path

    def run(self, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        hidden = ("PYTHONPATH", "KRAFTLAKE_", "UV_", "PIPX_", "XDG_", "VIRTUAL_ENV")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        path = os.pathsep.join(
            [str(self.home / ".local/bin"), str(self.programs), os.environ["PATH"]]
        )
        return subprocess.run(
            list(map(str, words)),
            cwd=cwd,
            env={**inherited, "HOME": str(self.home), "PATH": path, "UV_PYTHON": sys.executable},
            capture_output=True,
            encoding="utf-8",
            timeout=900,
            check=False,
        )


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Installers:
    folder = tmp_path_factory.mktemp("installers")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", _LOCK], check=True)
    (folder / "home").mkdir()
    return Installers(folder / "venv" / "bin", folder / "home")


def test_twine_finds_no_fault_with_the_wheel_and_the_sdist(
    installers: Installers, wheel: Path, sdist: Path
) -> None:
    done = installers.run("twine", "check", "--strict", wheel, sdist, cwd=wheel.parent)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


@pytest.mark.parametrize(
    "words", [("uvx", "--from"), ("pipx", "run", "--spec")], ids=["uvx", "pipx"]
)
def test_one_line_checks_a_directory_with_nothing_installed_before(
    installers: Installers, wheel: Path, data: Path, words: tuple[str, ...]
) -> None:
    done = installers.run(*words, wheel, "kraftlake", "check", "--json", _NODE, cwd=data)
    assert done.returncode == 0, done.stderr
    (directory,) = json.loads(done.stdout.splitlines()[-1])["summary"]["directories"]
    assert directory["verdict"] == "ok"


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        (("uvx", "--from", "WHEEL", "kraftlake"), ["uvx", "--from"]),
        (("pipx", "run", "--spec", "WHEEL", "kraftlake"), ["pipx", "run", "--spec"]),
    ],
    ids=["uvx", "pipx"],
)
def test_an_extra_that_lacks_is_added_by_the_same_installer(
    installers: Installers, wheel: Path, tmp_path: Path, words: tuple[str, ...], advised: list[str]
) -> None:
    call = [str(wheel) if word == "WHEEL" else word for word in words]
    done = installers.run(*call, "demo", cwd=tmp_path)
    line = done.stderr.splitlines()[-1].partition(" is not installed: ")[2]
    said = shlex.split(line)
    assert said[: len(advised)] == advised, done.stderr
    assert said[len(advised) :] == [f"kraftlake[lake] @ {wheel.as_uri()}", "kraftlake"]


def test_a_tool_of_uv_is_told_to_be_installed_again_with_the_extra_and_then_has_it(
    installers: Installers, wheel: Path, tmp_path: Path, data: Path
) -> None:
    assert installers.run("uv", "tool", "install", wheel, cwd=tmp_path).returncode == 0
    node = data / "kafka-4.1.1-dynamic/final/1"
    capture = ("kraftlake", "capture", node, "-o", f"file://{tmp_path}/copies")
    done = installers.run(*capture, cwd=tmp_path)
    line = done.stderr.splitlines()[-1].partition(" is not installed: ")[2]
    said = shlex.split(line)
    assert said == ["uv", "tool", "install", "--force", f"kraftlake[s3] @ {wheel.as_uri()}"]

    assert installers.run(*said, cwd=tmp_path).returncode == 0
    assert installers.run(*capture, cwd=tmp_path).returncode == 0
    assert list((tmp_path / "copies").rglob("*.log"))
