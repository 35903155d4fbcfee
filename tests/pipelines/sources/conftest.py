"""The sources, registered with the session of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.sources import register


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> Callable[..., DataFrame]:
    register(spark)

    def load(path: object, name: str = "kraft_log", **options: str) -> DataFrame:
        return spark.read.format(name).options(**options).load(str(path))

    return load
