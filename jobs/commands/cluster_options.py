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
        help="Directories, as for check, to read instead of a lake.",
        show_default=False,
    ),
]
OfTopic = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--topic", metavar="NAME", help="Only of this topic.", show_default=False),
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
    typer.Option(
        "--sizes",
        help="Count entities by kind; show the largest topics, and the types that fill the log.",
    ),
]
Exposures = Annotated[
    bool,
    typer.Option(
        "--exposure",
        help="Show what the cluster loses if a rack, broker, pair of brokers or voter fails.",
    ),
]
Since = Annotated[
    bool,
    typer.Option(
        "--since", help="With --exposure: the record since which each failure would do harm."
    ),
]
ShownRows = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="In text, show N rows of each kind.")
]
Family = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--family",
        metavar="F",
        help="Judge files (are the directories sound), health (is the cluster well) or all. By "
        "default both are judged, and only files count for the exit code.",
        show_default=False,
    ),
]
BrokerConfig = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--broker-config",
        metavar="FILE",
        help="A broker's server.properties, for a default that no log holds: min.insync.replicas.",
        show_default=False,
    ),
]
SubjectLimit = Annotated[
    int,
    typer.Option(
        "--limit",
        min=0,
        metavar="N",
        help="Name at most N partitions, nodes and so on in a finding of health.",
    ),
]
