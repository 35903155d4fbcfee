"""A folder to unpack in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.capture.bundles import Unpacking


@pytest.fixture
def unpacking(tmp_path: Path) -> Unpacking:
    return Unpacking(tmp_path)
