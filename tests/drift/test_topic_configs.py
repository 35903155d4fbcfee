"""The table of topics' configs is held to Kafka's classes: a default, a unit and a broker's config
that is missing are each told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.metadata.topic_configs import BrokerConfig, TopicConfig
from tests.drift.test_drift import OURS, said_of

RETENTION = "retention.ms"


def _changed(**fields: object) -> tuple[TopicConfig, ...]:
    return tuple(
        replace(one, **fields) if one.name == RETENTION else one for one in OURS.topic_configs
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"default": "1"},
        {"of_brokers": ()},
        {"of_brokers": tuple(map(BrokerConfig, ("log.retention.ms", "log.retention.hours")))},
    ],
)
def test_another_default_or_another_config_of_brokers_is_told(fields: dict[str, object]) -> None:
    (line,) = said_of(replace(OURS, topic_configs=_changed(**fields)))
    assert line.startswith(f"replica/metadata/topic_configs.py: config {RETENTION}: Kafka has ")


@pytest.mark.slow
def test_a_config_that_only_one_of_the_two_has_is_told() -> None:
    without = tuple(one for one in OURS.topic_configs if one.name != RETENTION)
    (line,) = said_of(replace(OURS, topic_configs=without))
    assert f"config {RETENTION}: not in our table" in line
    more = (*OURS.topic_configs, TopicConfig("no.such", ""))
    (line,) = said_of(replace(OURS, topic_configs=more))
    assert "config no.such: in our table, and no config of Kafka's topics" in line
