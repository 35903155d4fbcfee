"""Options of `kraftlake publish`."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Text, Texts, on_disk

Table = Annotated[
    str, typer.Option("--table", metavar="T", help="gold.metadata_changes or gold.findings.")
]
Schema = Annotated[
    bool, typer.Option("--schema", help="Print the JSON Schema of the table's messages instead.")
]
Bootstrap = Annotated[
    Text,
    typer.Option(
        "--bootstrap", "-b", metavar="HOST:PORT,...", help="Brokers of the topic's cluster."
    ),
]
Topic = Annotated[Text, typer.Option("--topic", metavar="TOPIC", help="Publish to a Kafka topic.")]
ProgressTopic = Annotated[
    str,
    typer.Option("--progress-topic", metavar="TOPIC", help="A compacted topic for the progress."),
]
ProducerConfig = Annotated[
    Text,
    typer.Option(
        "--producer-config",
        metavar="FILE",
        help="librdkafka's properties, such as security.protocol.",
    ),
]
Properties = Annotated[
    Texts, typer.Option("-X", metavar="NAME=VALUE", help="One such property. May be repeated.")
]
Folder = Annotated[
    Text,
    typer.Option(
        "--to",
        callback=on_disk("--to"),
        metavar="DIR",
        help="Publish to a folder, as files of JSON lines.",
    ),
]
WebhookUrl = Annotated[
    Text,
    typer.Option(
        "--webhook",
        metavar="URL",
        help="Send each new finding of severity error by POST; @FILE reads the URL from a file.",
    ),
]
WebhookHeaders = Annotated[
    Texts,
    typer.Option(
        "--webhook-header", "-H", metavar="H", help="'NAME: VALUE', or @FILE. May be repeated."
    ),
]
WebhookFormat = Annotated[
    str,
    typer.Option(
        "--webhook-format",
        metavar="F",
        help="What the webhook takes: json, slack, pagerduty or alertmanager.",
    ),
]
WebhookSeverity = Annotated[
    str,
    typer.Option(
        "--webhook-severity", metavar="S", help="The least severity that is sent: error or warning."
    ),
]
WebhookKey = Annotated[
    Text,
    typer.Option(
        "--webhook-key",
        metavar="KEY",
        help="The integration key of PagerDuty's service; @FILE reads it from a file.",
    ),
]
ProgressPath = Annotated[
    Text, typer.Option("--progress", metavar="FILE", help="Of --webhook: where it keeps how far.")
]
StartAt = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="WHERE",
        help="Where the first run begins: snapshot, all that the table holds, or latest.",
    ),
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Begin anew at --from, whatever was published before.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Go on with each new version, until interrupted.")
]
Interval = Annotated[
    float,
    typer.Option(
        "--interval", min=0.1, metavar="S", help="Seconds between looks at the table with --follow."
    ),
]
