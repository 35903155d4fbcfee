"""Options of `kraftlake publish`."""

from __future__ import annotations

from typing import Annotated

from jobs.commands.options import on_disk
from jobs.commands.parameters import Text, Texts, option

Table = Annotated[str, option("--table T", "The table: gold.metadata_changes or gold.findings.")]
Schema = Annotated[bool, option("--schema", "Only print the JSON Schema of the table's messages.")]
Bootstrap = Annotated[
    Text, option("-b, --bootstrap HOST:PORT,...", "Brokers of the cluster that has the topic.")
]
Topic = Annotated[Text, option("--topic TOPIC", "Publish to a Kafka topic.")]
ProgressTopic = Annotated[
    str, option("--progress-topic TOPIC", "The compacted topic that keeps the progress.")
]
ProducerConfig = Annotated[
    Text,
    option(
        "--producer-config FILE", "A file of librdkafka's properties, such as security.protocol."
    ),
]
Properties = Annotated[Texts, option("-X NAME=VALUE", "A property of librdkafka. May be repeated.")]
Folder = Annotated[
    Text,
    option("--to DIR", "Publish to a folder, as files of JSON lines.", callback=on_disk("--to")),
]
WebhookUrl = Annotated[
    Text,
    option(
        "--webhook URL",
        "Send each new row of gold.findings by POST; @FILE reads the URL from a file.",
    ),
]
WebhookHeaders = Annotated[
    Texts,
    option("-H, --webhook-header H", "A header to send: 'NAME: VALUE', or @FILE. May be repeated."),
]
WebhookFormat = Annotated[
    str,
    option("--webhook-format F", "The format of messages: json, slack, pagerduty or alertmanager."),
]
WebhookSeverity = Annotated[
    str, option("--webhook-severity S", "The least severity that is sent: error or warning.")
]
WebhookKey = Annotated[
    Text,
    option(
        "--webhook-key KEY",
        "The integration key of PagerDuty's service; @FILE reads it from a file.",
    ),
]
ProgressPath = Annotated[
    Text, option("--progress FILE", "With --webhook: the file that keeps the progress.")
]
StartAt = Annotated[
    str,
    option(
        "--from WHERE", "Where the first run begins: snapshot (all rows of the table) or latest."
    ),
]
Restart = Annotated[bool, option("--restart", "Forget the progress, and begin at --from again.")]
Follow = Annotated[bool, option("--follow", "Publish each new version, until interrupted.")]
Interval = Annotated[
    float, option("--interval S", "With --follow: look at the table every S seconds.", min=0.1)
]
