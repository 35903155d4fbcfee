"""Which jars a session is given: none that somebody brings already."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.spark.jars import DELTA_JARS
from pipelines.spark.session_jars import add_jars, jars_for
from replica.errors import UsageError

DELTA = f"/opt/{DELTA_JARS[0].file_name}"
DELTA_PACKAGE = f"io.delta:{DELTA_JARS[0].module}:{DELTA_JARS[0].revision}"


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.jars": f"{DELTA},/opt/hadoop-aws-3.5.0.jar"},
        {"spark.jars.packages": f"{DELTA_PACKAGE},org.apache.hadoop:hadoop-aws:3.5.0"},
        {"spark.jars": DELTA, "spark.driver.extraClassPath": "/opt/hadoop-aws-3.5.0.jar"},
    ],
)
def test_jars_that_the_settings_name_are_left_out(settings: dict[str, str], tmp_path: Path) -> None:
    assert jars_for(settings, tmp_path, in_s3=True) == []


def test_only_a_lake_in_s3_needs_more_than_delta(tmp_path: Path) -> None:
    assert jars_for({"spark.jars": DELTA}, tmp_path, in_s3=False) == []
    with pytest.raises(UsageError, match="hadoop-aws-"):
        jars_for({"spark.jars": DELTA}, tmp_path, in_s3=True)


def test_jars_are_added_behind_those_that_are_named() -> None:
    settings = {"spark.jars": "a.jar"}
    add_jars(settings, [Path("/b.jar"), Path("/c.jar")])
    assert settings == {"spark.jars": "a.jar,/b.jar,/c.jar"}
    add_jars(settings, [])
    assert settings == {"spark.jars": "a.jar,/b.jar,/c.jar"}
