"""A pool of batches to build segments of, made once for the folder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.replica.scan.damaging import Pool


@pytest.fixture(scope="session")
def pool(data: Path) -> Pool:
    return Pool(data, random.Random(1))
