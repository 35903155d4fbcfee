"""--command-config: how a command connects, by a Kafka client's properties file."""

from __future__ import annotations

from jobs.output import complain
from replica.node.properties import read_properties
from replica.node.security.client import client_config_in
from replica.wire.client import ClientConfig

_DEFAULT = ClientConfig()


def client_config(path: str | None, default: ClientConfig = _DEFAULT) -> ClientConfig:
    """`default` as the file changes it; None for no file. Complains about keys without meaning
    here, and about secrets that others may read.

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
        complain(f"{path}: without meaning here, ignored: {', '.join(unknown)}")
    return config
