"""Options about a cluster's state and health."""

from __future__ import annotations

from typing import Annotated

from jobs.cli.commands.options import each_by
from jobs.cli.commands.parameters import Text, Texts, shared_argument, shared_option
from pipelines.object_store import check_local

PathsOfAState = Annotated[
    Texts,
    shared_argument(
        "[PATH...]",
        "Directories, as for check, to read instead of a lake.",
        callback=each_by(check_local),
    ),
]
OfTopic = Annotated[
    Text,
    shared_option(
        "--topic NAME",
        "Only this topic, its partitions, its configs, and ACLs on exactly its name.",
    ),
]
BrokerConfig = Annotated[
    Text,
    shared_option(
        "--broker-config FILE",
        "A broker's server.properties, for a default that no log holds: min.insync.replicas.",
    ),
]
