"""The answers about clusters, each asked for once in a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.contradictions.answers import Answers, answers_of, read_lake
from tests.contradictions.clusters import named

Told = Callable[[str], Answers]
"""The answers about a cluster by its name: see `named`."""


@pytest.fixture(scope="session")
def told(built_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    lakes = cache(lambda: read_lake(built_lake))

    @cache
    def answers(name: str) -> Answers:
        given = named(name)
        in_lake = lakes().get(given.cluster_id) if name.endswith("/final") else None
        return answers_of(given, tmp_path_factory.mktemp("answers"), in_lake)

    return answers
