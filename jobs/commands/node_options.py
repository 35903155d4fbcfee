"""Options of commands that run nodes, connect to them, or play them."""

from __future__ import annotations

from typing import Annotated

from jobs.commands.parameters import Text, option

ServerProperties = Annotated[
    str, option("-c, --config FILE", "The node's server.properties, in Kafka's format.")
]

LogFormat = Annotated[
    str,
    option(
        "--log-format text|json",
        "The form of events on stderr: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str, option("-b, --bootstrap HOST:PORT", "The nodes to connect to first, separated by commas.")
]
CommandConfig = Annotated[
    Text,
    option(
        "--command-config FILE",
        "The properties of a Kafka client, for the connection: security.protocol, sasl.mechanism, "
        "sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
    ),
]
Topic = Annotated[str, option("--topic T", "The topic's name.")]
