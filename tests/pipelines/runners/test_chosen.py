"""Which engine runs a job: the option counts before the variable, and that before spark-submit."""

from __future__ import annotations

import pytest

from pipelines.runners.chosen import VARIABLE, chosen_engine
from replica.errors import UsageError


@pytest.mark.parametrize(
    ("option", "variable", "is_submitted", "engine"),
    [
        (None, None, False, "local"),
        (None, None, True, "spark"),
        (None, "spark", False, "spark"),
        (None, "local", True, "local"),
        (None, "", False, "local"),
        ("local", "spark", True, "local"),
        ("spark", "local", False, "spark"),
    ],
)
def test_the_option_counts_before_the_variable_and_that_before_spark_submit(
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    variable: str | None,
    is_submitted: bool,
    engine: str,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    if is_submitted:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    assert chosen_engine(option) == engine


def test_another_name_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"^--engine flink: no such engine: spark or local$"):
        chosen_engine("flink")
    monkeypatch.setenv(VARIABLE, "flink")
    with pytest.raises(UsageError, match=rf"^{VARIABLE} flink: no such engine"):
        chosen_engine(None)
