"""The options of a connection: --bootstrap, and --command-config, a Kafka
client's properties file."""

from __future__ import annotations

from jobs.cli.output import complain
from replica.errors import UsageError
from replica.node.listeners import address_in
from replica.node.properties import read_properties
from replica.node.security.client import client_config_in
from replica.wire.client import ClientConfig

_DEFAULT = ClientConfig()


def client_config(path: str | None, default: ClientConfig = _DEFAULT) -> ClientConfig:
    """`default` with the changes in the file at `path`; where path is None, `default` itself.

    Complains about keys that have no effect here, and about secrets that other users may read.
    Raises UsageError and UnreadableFileError.
    """
    if path is None:
        return default
    properties = read_properties(path, "client.properties")
    config, warnings = client_config_in(properties, default)
    for warning in warnings:
        complain(warning)
    unknown = properties.unknown()
    if unknown:
        complain(f"{path}: ignored, because they have no meaning here: {', '.join(unknown)}")
    return config


def addresses(text: str) -> list[tuple[str, int]]:
    """The hosts and ports in a list HOST:PORT,... Raises UsageError for a text of another form."""
    found = [address_in(part.strip()) for part in text.split(",")]
    named = [address for address in found if address is not None and address[0]]
    if len(named) != len(found):
        raise UsageError(f"--bootstrap {text}: expected HOST:PORT, several with commas between")
    return named
