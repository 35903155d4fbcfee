"""The releases of Kafka that a test runs against."""

from __future__ import annotations

import pytest

from tests.interop.kafka_jars import NEWEST, VERSIONS, class_path_or_skip


def _releases() -> list[object]:
    """The newest first; the others are for `make test-all`."""
    return [
        pytest.param(version, marks=[] if version == NEWEST else [pytest.mark.slow])
        for version in reversed(VERSIONS)
    ]


@pytest.fixture(scope="module", params=_releases())
def kafka_version(request: pytest.FixtureRequest) -> str:
    """One of kafka_jars.VERSIONS, whose jars are there; a test that asks for it runs with each."""
    version: str = request.param
    class_path_or_skip(version)
    return version
