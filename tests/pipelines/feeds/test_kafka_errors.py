"""Properties of librdkafka that won't do: the errors say which, and repeat no value."""

from __future__ import annotations

import pytest

from pipelines.feeds.kafka import KafkaDestination, kafka_target
from pipelines.feeds.values import FEEDS
from replica.errors import UsageError

_FEED = FEEDS["gold.findings"]
_SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "u1", "sasl.password": "p1"}


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (
            {"compression.type": "T0P-SECRET"},
            'Invalid value "***" for configuration property "compression.codec"',
        ),
        (
            {**_SASL, "sasl.mechanism": "T0P-SECRET"},
            "Failed to create admin client: Unsupported SASL mechanism: ***",
        ),
        (
            {"linger.ms": "99999999999"},
            'Configuration property "queue.buffering.max.ms" value *** is outside allowed range '
            "0..900000",
        ),
        ({"security.protocol": "a.b"}, 'Invalid value "***" for configuration property'),
        ({"lingr.ms": "prop"}, 'No such configuration property: "lingr.ms"'),
    ],
)
def test_a_value_that_won_t_do_is_not_repeated(properties: dict[str, str], error: str) -> None:
    to = KafkaDestination("changes", "progress", {"bootstrap.servers": "127.0.0.1:1", **properties})
    with pytest.raises(UsageError) as raised, kafka_target(to, _FEED, "table"):
        pass
    assert str(raised.value).startswith(error)
    assert "\n" not in str(raised.value)
