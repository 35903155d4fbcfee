"""Kafka's own reading of single records, which these tests share."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden() -> tuple[tuple[bytes, str], ...]:
    """(value, the payload Kafka printed) of each line of tests/golden/metadata_json.jsonl.

    The file's first line says where the rest came from.
    """
    path = Path(__file__).parents[2] / "golden" / "metadata_json.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    rows = [json.loads(line) for line in lines]
    return tuple((base64.b64decode(row["value"]), row["payload"]) for row in rows)
