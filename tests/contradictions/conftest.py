"""The answers about clusters. Each answer is computed once in a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.contradictions.answers import Answers, answers_of, lakes_of, read_lake
from tests.contradictions.clusters import named

IN_LAKE = (("seed-1", "seed-2-back"), ("seed-95-back", "seed-333-back"))
"""The seeds that are also in a lake, where the answers about a few clusters are compared. The seeds
of a pair are built together."""
Told = Callable[[str], Answers]
"""Gives the answers about a cluster by its name; see `named`."""


@pytest.fixture(scope="session")
def told(built_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    built = cache(lambda cluster_id: read_lake(built_lake, cluster_id).get(cluster_id))
    of_pair = cache(lambda pair: lakes_of(list(map(named, pair)), tmp_path_factory.mktemp("seeds")))

    @cache
    def answers(name: str) -> Answers:
        given = named(name)
        in_lake = built(given.cluster_id) if name.endswith("/final") else None
        for pair in IN_LAKE:
            if name in pair:
                in_lake = of_pair(pair)[given.name]
        return answers_of(given, tmp_path_factory.mktemp("answers"), in_lake)

    return answers
