"""Options about a cluster's state and health."""

from __future__ import annotations

from typing import Annotated

from jobs.commands.options import each_by
from jobs.commands.parameters import Text, Texts, argument, option
from pipelines.object_store import check_local

PathsOfAState = Annotated[
    Texts,
    argument(
        "[PATH...]",
        "Directories, as for check, to read instead of a lake.",
        callback=each_by(check_local),
    ),
]
OfTopic = Annotated[
    Text,
    option(
        "--topic NAME",
        "Only this topic, its partitions, its configs, and ACLs on exactly its name.",
    ),
]
ShownEntities = Annotated[
    Texts,
    option("--entity E", "Only entities of this kind, such as broker or 'c*'. May be repeated."),
]
ShownNames = Annotated[
    Texts,
    option(
        "--name N",
        "Only entities of this name, such as orders-0 or 'topic orders: *'. May be repeated.",
    ),
]
Sizes = Annotated[
    bool,
    option(
        "--sizes",
        "Count entities by kind; show the largest topics, and the types that fill the log.",
    ),
]
Exposures = Annotated[
    bool,
    option(
        "--exposure",
        "Show what the cluster loses if a rack, broker, pair of brokers or voter fails.",
    ),
]
Since = Annotated[
    bool, option("--since", "With --exposure: the record since which each failure would do harm.")
]
ShownRows = Annotated[int, option("--limit N", "In text, show N rows of each kind at most.", min=1)]
Family = Annotated[
    Text,
    option(
        "--family F",
        "Judge files (are the directories sound), health (is the cluster well) or all. By default "
        "both are judged, and only files count for the exit code.",
    ),
]
BrokerConfig = Annotated[
    Text,
    option(
        "--broker-config FILE",
        "A broker's server.properties, for a default that no log holds: min.insync.replicas.",
    ),
]
SubjectLimit = Annotated[
    int,
    option(
        "--limit N", "Name at most N partitions, nodes and so on in a finding of health.", min=0
    ),
]
