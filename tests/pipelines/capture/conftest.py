"""A folder to unpack in, and a spool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from tests.pipelines.capture.bundles import Unpacking


@pytest.fixture
def unpacking(tmp_path: Path) -> Unpacking:
    return Unpacking(tmp_path)


@pytest.fixture
def spool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spool]:
    with Spool.below(Lake(tmp_path_factory.mktemp("lake"))) as spool:
        yield spool
