"""One S3 server for all tests of a run: it starts in a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.object_stores.s3_server import S3Server, class_path_or_skip, s3_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server that keeps its objects below the run's temporary folder."""
    class_path = class_path_or_skip()
    with s3_server(tmp_path_factory.mktemp("s3") / "server", class_path) as started:
        yield started
