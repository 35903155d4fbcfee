"""Options of `kraftlake publish`."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Text, Texts, on_disk

Table = Annotated[
    str,
    typer.Option("--table", metavar="T", help="The table: gold.metadata_changes or gold.findings."),
]
Schema = Annotated[
    bool, typer.Option("--schema", help="Only print the JSON Schema of the table's messages.")
]
Bootstrap = Annotated[
    Text,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT,...",
        help="Brokers of the cluster that has the topic.",
    ),
]
Topic = Annotated[Text, typer.Option("--topic", metavar="TOPIC", help="Publish to a Kafka topic.")]
ProgressTopic = Annotated[
    str,
    typer.Option(
        "--progress-topic", metavar="TOPIC", help="The compacted topic that keeps the progress."
    ),
]
ProducerConfig = Annotated[
    Text,
    typer.Option(
        "--producer-config",
        metavar="FILE",
        help="A file of librdkafka's properties, such as security.protocol.",
    ),
]
Properties = Annotated[
    Texts,
    typer.Option("-X", metavar="NAME=VALUE", help="A property of librdkafka. May be repeated."),
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
        "--webhook-header",
        "-H",
        metavar="H",
        help="A header to send: 'NAME: VALUE', or @FILE. May be repeated.",
    ),
]
WebhookFormat = Annotated[
    str,
    typer.Option(
        "--webhook-format",
        metavar="F",
        help="The format of messages: json, slack, pagerduty or alertmanager.",
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
    Text,
    typer.Option(
        "--progress", metavar="FILE", help="With --webhook: the file that keeps the progress."
    ),
]
StartAt = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="WHERE",
        help="Where the first run begins: snapshot (all rows of the table) or latest.",
    ),
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Forget the progress, and begin at --from again.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Publish each new version, until interrupted.")
]
Interval = Annotated[
    float,
    typer.Option(
        "--interval", min=0.1, metavar="S", help="With --follow: look at the table every S seconds."
    ),
]
