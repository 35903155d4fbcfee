"""A pool of batches from which segments are built, made once for the folder, and kernels to read
them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from replica.scan.compiling import compile_all
from tests.replica.scan.damaging import Pool


@pytest.fixture(scope="session")
def pool(data: Path) -> Pool:
    return Pool(data, random.Random(1))


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels() -> None:
    """Compiles the kernels. Without them the scalar reader would be compared with itself."""
    compile_all()
