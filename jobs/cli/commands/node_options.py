"""Options of commands that run nodes, connect to them, or play them."""

from __future__ import annotations

from typing import Annotated

from jobs.cli.commands.parameters import Text, shared_option

ServerProperties = Annotated[
    str, shared_option("-c, --config FILE", "The node's server.properties, in Kafka's format.")
]

LogFormat = Annotated[
    str,
    shared_option(
        "--log-format text|json",
        "The form of events on stderr: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str,
    shared_option(
        "-b, --bootstrap HOST:PORT", "The nodes to connect to first, separated by commas."
    ),
]
CommandConfig = Annotated[
    Text,
    shared_option(
        "--command-config FILE",
        "The properties of a Kafka client, for the connection: security.protocol, sasl.mechanism, "
        "sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
    ),
]
Topic = Annotated[str, shared_option("--topic T", "The topic's name.")]
