"""What the wheel and the sdist hold; that the same sources give the same bytes."""

from __future__ import annotations

import os
import tarfile
from email import message_from_string
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

from tests.packages.building import (
    MODULES,
    PACKAGES,
    REPOSITORY,
    RUNBOOKS,
    build,
    copy_of_the_checkout,
)
from tests.packages.conftest import EPOCH

_SHARE = {"conf": "conf", "runbooks": RUNBOOKS}
"""The folders below share/kraftlake, and where the checkout has them."""


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def metadata_of(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def test_the_wheel_has_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    tops = {PurePosixPath(name).parts[0] for name in names_in(wheel)}
    stem = "-".join(wheel.name.split("-")[:2])
    assert tops == {"kraftlake", *MODULES, f"{stem}.dist-info", f"{stem}.data"}

    ours = {name for name in names_in(wheel) if name.startswith("kraftlake/")}
    assert ours == {
        Path(
            "kraftlake", path.relative_to(REPOSITORY).as_posix().removeprefix("kraftlake/")
        ).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    assert "kraftlake/py.typed" in names_in(wheel)


def test_the_wheel_brings_the_settings_and_runbooks_that_the_checkout_has(wheel: Path) -> None:
    stem = "-".join(wheel.name.split("-")[:2])
    prefix = f"{stem}.data/data/share/kraftlake/"
    installed = {name.removeprefix(prefix) for name in names_in(wheel) if ".data/" in name}
    assert installed == {
        f"{share}/{path.relative_to(REPOSITORY / folder).as_posix()}"
        for share, folder in _SHARE.items()
        for path in (REPOSITORY / folder).rglob("*")
        if path.is_file()
    }


def test_the_wheel_names_its_command_and_its_extras(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert archive.read(name).decode().split() == [
            "[console_scripts]",
            "kraftlake",
            "=",
            "kraftlake.__main__:main",
        ]
    metadata = message_from_string(metadata_of(wheel))
    extras = {"connect", "scan", "s3", "duckdb", "mcp", "lake", "dev"}
    assert set(metadata.get_all("Provides-Extra", [])) == extras
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"


@pytest.mark.slow
def test_the_same_sources_give_the_same_wheel_wherever_and_whenever(
    wheel: Path, tmp_path: Path
) -> None:
    source = copy_of_the_checkout(tmp_path / "elsewhere" / "source")
    again = build("wheel", source, tmp_path / "dist", EPOCH)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_same_sources_give_the_same_sdist_wherever_and_whenever(
    sdist: Path, tmp_path: Path
) -> None:
    source = copy_of_the_checkout(tmp_path / "elsewhere" / "source")
    os.utime(source / "pyproject.toml", (0, 0))
    (source / "README.md").chmod(0o600)
    again = build("sdist", source, tmp_path / "dist", EPOCH)
    assert again.name == sdist.name
    assert again.read_bytes() == sdist.read_bytes()


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", source, tmp_path / "dist", EPOCH)
    assert names_in(again) == names_in(wheel)
    assert again.read_bytes() == wheel.read_bytes()
