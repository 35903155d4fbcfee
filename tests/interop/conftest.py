"""The releases of Kafka against which tests run."""

from __future__ import annotations

import pytest

from tests.interop.kafka_jars import NEWEST, VERSIONS, class_path_or_skip


def _releases() -> list[object]:
    """The releases, the newest first. Older releases are for `make test-all`."""
    return [
        pytest.param(version, marks=[] if version == NEWEST else [pytest.mark.slow])
        for version in reversed(VERSIONS)
    ]


@pytest.fixture(scope="module", params=_releases())
def kafka_version(request: pytest.FixtureRequest) -> str:
    """One of kafka_jars.VERSIONS, whose jars are there. A test with this fixture runs with each
    release."""
    version: str = request.param
    class_path_or_skip(version)
    return version
