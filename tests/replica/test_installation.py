"""The line that adds an extra fits what installed kraftlake."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from replica import installation

_WHEEL = "file:///srv/dist/kraftlake-1.0.0-py3-none-any.whl"
_PYVENV = "home = /usr/bin\nuv = 0.13.9\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment from an index; what else an installer leaves there, the tests write."""
    prefix = tmp_path / "share" / "venvs" / "kraftlake"
    prefix.mkdir(parents=True)
    monkeypatch.setattr(installation, "ROOT", prefix / "lib")
    monkeypatch.setattr(installation, "_direct_url", lambda: None)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    return prefix


def test_pip_is_that_of_the_interpreter_that_runs(installed: Path) -> None:
    python = installed / "bin" / "python"
    line = installation.line_that_adds("lake")
    assert line == f"{python} -m pip install 'kraftlake[lake]'"


def test_an_environment_without_pip_that_uv_made_is_added_to_by_uv(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (installed / "pyvenv.cfg").write_text(_PYVENV)
    monkeypatch.setattr(installation.PathFinder, "find_spec", lambda name: None)
    python = installed / "bin" / "python"
    line = installation.line_that_adds("s3")
    assert line == f"uv pip install --python {python} 'kraftlake[s3]'"


def test_a_tool_of_uv_is_installed_again(installed: Path) -> None:
    (installed / "pyvenv.cfg").write_text(_PYVENV)
    (installed / "uv-receipt.toml").touch()
    line = installation.line_that_adds("lake")
    assert line == "uv tool install --force 'kraftlake[lake]'"


def test_uvx_is_told_the_extra_in_its_call(installed: Path) -> None:
    (installed / "pyvenv.cfg").write_text(_PYVENV)
    (installed.parents[1] / "CACHEDIR.TAG").touch()
    assert installation.line_that_adds("lake") == "uvx --from 'kraftlake[lake]' kraftlake"


def test_pipx_installs_again_or_is_told_in_its_call(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (installed / "pipx_metadata.json").touch()
    line = installation.line_that_adds("lake")
    assert line == "pipx install --force 'kraftlake[lake]'"

    temporary = tmp_path / ".cache" / "pipx" / "f619"
    temporary.mkdir(parents=True)
    (temporary / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(temporary))
    line = installation.line_that_adds("lake")
    assert line == "pipx run --spec 'kraftlake[lake]' kraftlake"


def test_a_checkout_is_installed_again_as_it_lies(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    assert installation.line_that_adds("lake").endswith(f" -m pip install -e '{tmp_path}[lake]'")


def test_the_one_file_of_the_core_is_told_apart(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "kraftlake.pyz"
    file.touch()
    monkeypatch.setattr(installation, "ROOT", file)
    line = installation.line_that_adds("lake")
    assert line == (
        "this file has the core alone: on a machine with a network, "
        "python3 -m pip install 'kraftlake[lake]'"
    )


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ({"url": _WHEEL, "archive_info": {}}, f"kraftlake[scan] @ {_WHEEL}"),
        (
            {"url": "https://git/k", "vcs_info": {"vcs": "git", "commit_id": "a1b2"}},
            "kraftlake[scan] @ git+https://git/k@a1b2",
        ),
        ({}, "kraftlake[scan]"),
    ],
)
def test_the_extra_comes_from_where_the_package_came_from(
    installed: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object], wanted: str
) -> None:
    monkeypatch.setattr(installation, "_direct_url", lambda: json.dumps(origin))
    line = installation.line_that_adds("scan")
    assert line.endswith(f"pip install '{wanted}'")
    assert Requirement(wanted).extras == {"scan"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": "x", "vcs_info": 3}'])
def test_an_installation_without_a_source_is_named_by_the_project(
    installed: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(installation, "_direct_url", lambda: text)
    assert installation.line_that_adds("scan").endswith("pip install 'kraftlake[scan]'")
