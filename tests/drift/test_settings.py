"""`make kafka-drift` names what differs between a node's settings in Kafka and in our table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.startup.known_settings import Kind, Type, kind_of
from tests.drift.comparing import drift
from tests.drift.test_drift import OURS, facts_or_skip
from tests.interop.kafka_jars import NEWEST

NAME = "num.io.threads"
CHANGED = {
    "Kafka knows it, and our table does not": None,
    "INT in Kafka, LONG in ours": Kind(Type.LONG, 1),
    "Kafka takes [1,...], and ours begins at 8": Kind(Type.INT, 8),
    "Kafka takes [1,...], and ours is one of 8, 16": Kind(Type.INT, 1, choices=("8", "16")),
}


@pytest.mark.slow
@pytest.mark.parametrize("said", CHANGED)
def test_a_setting_that_differs_is_named(said: str) -> None:
    tables = replace(OURS, settings=lambda *one: CHANGED[said] if one[0] == NAME else kind_of(*one))
    place = "replica/doctor/startup/known_settings.py"
    assert drift(facts_or_skip(NEWEST), tables, is_newest=True) == [
        f"{place}: setting {NAME}: {said}"
    ]
