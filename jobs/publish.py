"""The job that sends the changes of a gold table or an own table to a Kafka topic, to files, or to
a webhook.

spark-submit starts it, and the command `kraftlake publish` does the same without Spark:

    spark-submit jobs/publish.py --lake /data/lake --table gold.findings --to changes/
"""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.cli.commands.sharing import PublishOptions
from jobs.cli.option_values import bytes_in, text_in
from jobs.cli.output import complain, write_json, write_text
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.message import json_schema
from pipelines.feeds.publishing import FeedTarget, Start, publish
from pipelines.feeds.values import FEEDS, Feed, FeedPosition
from pipelines.lake import Lake
from pipelines.lake.tables import check_lake, is_own
from pipelines.lineage.job_events import job_events
from pipelines.tables.gold import FINDINGS
from replica.errors import DataError, UsageError
from replica.format.java_properties import ENCODING, properties_in
from replica.words import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_BYTES = 1024 * 1024
"""The size of the largest file that an option may name."""
_STARTS: tuple[Start, ...] = ("snapshot", "latest")


def main(spark: SparkSession | None, arguments: PublishOptions) -> int:
    """Publish, or print the JSON Schema of the table's messages.

    spark: the session whose executors read the changes; where it is None, delta-rs reads them in
    this process. The messages leave from this process, in order. Returns 0 when everything was
    published, or --follow was interrupted. Raises KraftlakeError.
    """
    from pipelines.delta.failures import lake_errors

    table, lake = arguments.table, arguments.lake
    if lake is not None and not arguments.schema:
        check_lake(lake)
    known = _feed(table, lake)
    if arguments.schema:
        write_text(json.dumps(json_schema(known), indent=2, ensure_ascii=False) + "\n")
        return 0
    if lake is None:
        raise _no_lake()
    feed = _change_feed(spark, lake, known)
    start = next((known for known in _STARTS if known == arguments.start), None)
    if start is None:
        raise UsageError(f"--from {arguments.start}: expected {' or '.join(_STARTS)}")
    if arguments.follow:  # a service manager ends it by SIGTERM, which then counts like Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = _VersionLines(table, arguments.json_output)
    wait = partial(_wait, arguments.interval_s) if arguments.follow else None
    writes, run_id = _written(arguments), arguments.run_id
    try:
        with (
            lake_errors(lake),
            _target(feed, arguments) as target,
            job_events("publish", lake, complain, tables=table, writes=writes, run_id=run_id),
        ):
            publish(feed, target, lines, start=start, restart=arguments.restart, wait=wait)
    except KeyboardInterrupt:
        if not arguments.follow:
            raise
    complain(f"publish: {counted(lines.total, 'change')} of {table} published")
    return 0


run = partial(main, None)


def _wait(seconds: float) -> None:
    """Waits for the next version. Before that the process gives back the memory that Arrow keeps
    after reading a version: some 60 MB, for which there may be no use for hours."""
    pa.default_memory_pool().release_unused()
    time.sleep(seconds)


def _change_feed(spark: SparkSession | None, lake: Lake, known: Feed) -> ChangeFeed:
    if spark is None:
        return ChangeFeed(lake.table_uri(known.name), known)
    from pipelines.feeds.spark_feed import SparkChangeFeed

    return SparkChangeFeed(spark, lake, known)


def _written(options: PublishOptions) -> tuple[str, ...]:
    """The name of the destination in lineage events; empty for a webhook, because its URL may be a
    secret."""
    if options.topic is not None and options.bootstrap:
        return (f"kafka://{options.bootstrap.split(',')[0]}/{options.topic}",)
    return () if options.folder is None else (options.folder,)


class _VersionLines:
    """Says what was published of each version: on stderr and, with --json, as JSON on stdout."""

    def __init__(self, table: str, json_output: bool) -> None:
        self.total = 0
        self._table = table
        self._json = json_output

    def __call__(self, position: FeedPosition, count: int) -> None:
        self.total += count
        what = ", the whole table" if position.is_snapshot else ""
        if count:
            complain(f"publish: {self._table} version {position.version}{what}: {count}")
        if self._json:
            row = {"table": self._table, **asdict(position), "changes": count}
            del row["ordinal"]
            write_json(row)
            sys.stdout.flush()


def _target(feed: ChangeFeed, options: PublishOptions) -> AbstractContextManager[FeedTarget]:
    """The destination in the options. Only the modules that it needs are imported. Raises
    UsageError where the options don't name exactly one."""
    named = {"--topic": options.topic, "--to": options.folder, "--webhook": options.webhook}
    if sum(value is not None for value in named.values()) != 1:
        raise UsageError(f"publish: name one of {', '.join(named)}")
    if options.topic is not None:
        from pipelines.feeds import kafka

        properties = _properties(options)
        topic = kafka.KafkaDestination(options.topic, options.progress_topic, properties)
        return kafka.kafka_target(topic, feed.feed, feed.table_id)
    if options.folder is not None:
        from pipelines.feeds.files import file_target

        return file_target(options.folder, feed.feed, feed.table_id)
    return _webhook(feed, options)


def _webhook(feed: ChangeFeed, options: PublishOptions) -> AbstractContextManager[FeedTarget]:
    from pipelines.feeds.webhook import WebhookEndpoint, webhook

    if feed.feed.name != FINDINGS.name:
        raise UsageError(f"--webhook: say --table {FINDINGS.name}, whose new errors are sent")
    if options.progress is None:
        raise UsageError("--webhook: --progress FILE is missing, where it keeps how far it is")
    named = options.webhook_headers or ()
    headers = dict(_header(_content("--webhook-header", text)) for text in named)
    key = _content("--webhook-key", options.webhook_key or "")
    to = WebhookEndpoint(
        _content("--webhook", options.webhook or ""),
        headers,
        form=options.webhook_format,
        least=options.webhook_severity,
        routing_key=key,
    )
    tell = (lambda text: complain(f"publish: {text}")) if options.follow else None
    return webhook(to, feed, options.progress, tell)


def _feed(table: str, lake: Lake | None) -> Feed:
    """The feed of a table. lake: has the own tables; None where no lake is given. Raises UsageError
    for a table without a feed."""
    if table in FEEDS:
        return FEEDS[table]
    if not is_own(table):
        raise UsageError(f"--table {table}: expected one of {', '.join(FEEDS)}, or own.NAME")
    if lake is None:
        raise _no_lake()
    from pipelines.own_tables.stored import stored_contract

    contract = stored_contract(lake, table)
    return Feed(contract, contract.keys)


def _no_lake() -> UsageError:
    return UsageError("publish: --lake L is missing, and KRAFTLAKE_LAKE is not set")


def _properties(options: PublishOptions) -> dict[str, str]:
    """The settings of librdkafka: those of the file, then those of -X, which win, and the cluster's
    address. Raises UsageError for a malformed setting, and where no address is given."""
    found: dict[str, str] = {}
    if options.producer_config is not None:
        text = bytes_in("--producer-config", options.producer_config, _MOST_BYTES).decode(ENCODING)
        try:
            found |= {key: value for _, key, value in properties_in(text)}
        except DataError as error:
            raise UsageError(str(error.in_file(options.producer_config))) from error
    for pair in options.properties or ():
        key, is_pair, value = pair.partition("=")
        if not is_pair or not key.strip():
            # the text may be secret
            raise UsageError("-X: expected NAME=VALUE, such as linger.ms=50")
        found[key.strip()] = value
    if options.bootstrap is not None:
        found["bootstrap.servers"] = options.bootstrap
    if not found.get("bootstrap.servers"):
        raise UsageError("--topic: --bootstrap HOST:PORT is missing")
    return found


def _header(text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition(":")
    if not is_pair or not name.strip() or not text.isprintable():
        raise UsageError("--webhook-header: expected 'NAME: VALUE', or @FILE with that in it")
    return name.strip(), value.strip()


def _content(option: str, text: str) -> str:
    """The content of the file, without blanks around it, where `text` is @FILE. Any other text is
    returned unchanged."""
    if not text.startswith("@"):
        return text
    return text_in(option, text[1:], _MOST_BYTES).strip()


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("publish", main)
