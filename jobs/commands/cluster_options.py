"""Options about a cluster's state and health, for state and check."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from pipelines.object_store import check_local

PathsOfAState = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        callback=lambda paths: [check_local(path) for path in paths or []],
        metavar="[PATH...]",
        help="In the lake's place: directories as for check.",
        show_default=False,
    ),
]
OfTopic = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--topic", metavar="NAME", help="Of this topic.", show_default=False),
]
ShownEntities = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--entity",
        metavar="E",
        help="Only entities of this kind, such as broker or 'c*'. May be repeated.",
        show_default=False,
    ),
]
ShownNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--name",
        metavar="N",
        help="Only entities of this name, such as orders-0 or 'topic orders: *'. May be repeated.",
        show_default=False,
    ),
]
Sizes = Annotated[
    bool,
    typer.Option("--sizes", help="Entities by kind, the largest topics, and what fills the log."),
]
Exposures = Annotated[
    bool,
    typer.Option(
        "--exposure",
        help="What the failure of each rack, broker, pair of brokers and voter would take away.",
    ),
]
Since = Annotated[
    bool,
    typer.Option("--since", help="With --exposure: since which record each failure does harm."),
]
ShownRows = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="Show N rows of each kind in text.")
]
Family = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--family",
        metavar="F",
        help="files (are the directories sound), health (is the cluster that they describe well) "
        "or all. By default both are told, and the files decide about the exit code.",
        show_default=False,
    ),
]
BrokerConfig = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--broker-config",
        metavar="FILE",
        help="A broker's server.properties, for defaults that no log holds: min.insync.replicas.",
        show_default=False,
    ),
]
SubjectLimit = Annotated[
    int,
    typer.Option(
        "--limit",
        min=0,
        metavar="N",
        help="Name N partitions, nodes and so on of each rule of health.",
    ),
]
