"""The wheel and the sdist of this checkout, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages.building import build, copy_of_the_checkout

EPOCH = 1_700_000_000


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel. Read only."""
    folder = tmp_path_factory.mktemp("wheel")
    return build("wheel", copy_of_the_checkout(folder / "source"), folder / "dist", EPOCH)


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist. Read only."""
    folder = tmp_path_factory.mktemp("sdist")
    return build("sdist", copy_of_the_checkout(folder / "source"), folder / "dist", EPOCH)
