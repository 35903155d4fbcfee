"""`kraftlake publish`: sends a gold table's changes to a Kafka topic, to files, or to a webhook.

It reads the table with delta-rs, without Spark.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field

from jobs.option_files import bytes_in, text_in
from jobs.output import complain, counted, write_json, write_text
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.message import json_schema
from pipelines.feeds.publishing import FeedTarget, Start, publish
from pipelines.feeds.values import FEEDS, Feed, FeedPosition
from pipelines.lake import Lake
from pipelines.lake.tables import check_lake
from pipelines.lineage.job_events import job_events
from pipelines.tables.gold import FINDINGS
from replica.errors import DataError, UsageError
from replica.format.java_properties import ENCODING, properties_in

PROGRESS_TOPIC = "kraftlake-publish-progress"
INTERVAL_S = 5.0
_MOST_BYTES = 1024 * 1024
"""The size of the largest file that an option may name."""
_STARTS: tuple[Start, ...] = ("snapshot", "latest")


@dataclass(frozen=True, slots=True)
class Kafka:
    """The options of --topic. properties: NAME=VALUE."""

    topic: str | None
    bootstrap: str | None = None
    progress_topic: str = PROGRESS_TOPIC
    producer_config: str | None = None
    properties: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Hook:
    """The options of --webhook. url, key, and each of headers (NAME: VALUE): @FILE stands for the
    text in that file. form, least, key: see webhook.Endpoint."""

    url: str | None = field(repr=False)
    headers: Sequence[str] = field(default=(), repr=False)
    progress: str | None = None
    form: str = "json"
    least: str = "error"
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FeedDestination:
    """Where changes go: one of kafka.topic, folder and hook.url is set."""

    kafka: Kafka
    folder: str | None
    hook: Hook


@dataclass(frozen=True, slots=True)
class Pace:
    """start: what the first run sends, snapshot or latest. interval_s: seconds between looks with
    follow."""

    start: str = "snapshot"
    restart: bool = False
    follow: bool = False
    interval_s: float = INTERVAL_S


def print_schema(table: str) -> int:
    """Print the JSON Schema of a table's messages. Returns 0."""
    write_text(json.dumps(json_schema(_feed(table)), indent=2, ensure_ascii=False) + "\n")
    return 0


def run(
    lake: Lake,
    table: str,
    to: FeedDestination,
    pace: Pace,
    *,
    run_id: str | None = None,
    json_output: bool = False,
) -> int:
    """Publish. Returns 0 when everything was published, or --follow was interrupted. Raises
    KraftlakeError.

    run_id: a UUID, for lineage.
    """
    known = _feed(table)
    check_lake(lake)
    feed = ChangeFeed(lake.table_uri(table), known)
    start = next((known for known in _STARTS if known == pace.start), None)
    if start is None:
        raise UsageError(f"--from {pace.start}: expected {' or '.join(_STARTS)}")
    if pace.follow:  # SIGTERM, by which a service manager ends it, counts like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    told = _VersionLines(table, json_output)
    wait = (lambda: time.sleep(pace.interval_s)) if pace.follow else None
    try:
        with (
            _target(feed, to, patient=pace.follow) as target,
            job_events(
                "publish",
                lake,
                complain,
                tables=table,
                writes=_written(to),
                run_id=run_id,
            ),
        ):
            publish(feed, target, told, start=start, restart=pace.restart, wait=wait)
    except KeyboardInterrupt:
        if not pace.follow:
            raise
    complain(f"publish: {counted(told.total, 'change')} of {table} published")
    return 0


def _written(to: FeedDestination) -> tuple[str, ...]:
    """The destination's name in lineage events. A webhook's URL isn't in it, because it may be a
    secret."""
    if to.kafka.topic is not None and to.kafka.bootstrap:
        return (f"kafka://{to.kafka.bootstrap.split(',')[0]}/{to.kafka.topic}",)
    return () if to.folder is None else (to.folder,)


class _VersionLines:
    """Says what was published of each version: on stderr and, if wanted, as JSON on stdout."""

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


@contextmanager
def _target(feed: ChangeFeed, to: FeedDestination, *, patient: bool) -> Iterator[FeedTarget]:
    """The destination in the options. Only the modules that it needs are imported."""
    named = {"--topic": to.kafka.topic, "--to": to.folder, "--webhook": to.hook.url}
    if sum(value is not None for value in named.values()) != 1:
        raise UsageError(f"publish: name one of {', '.join(named)}")
    if to.kafka.topic is not None:
        from pipelines.feeds import kafka

        topic = kafka.KafkaDestination(
            to.kafka.topic, to.kafka.progress_topic, _properties(to.kafka)
        )
        with kafka.kafka_target(topic, feed.feed, feed.table_id) as target:
            yield target
    elif to.folder is not None:
        from pipelines.feeds.files import file_target

        with file_target(to.folder, feed.feed, feed.table_id) as files:
            yield files
    else:
        with _webhook(feed, to.hook, patient=patient) as endpoint:
            yield endpoint


def _webhook(feed: ChangeFeed, hook: Hook, *, patient: bool) -> AbstractContextManager[FeedTarget]:
    from pipelines.feeds.webhook import endpoint, webhook

    if feed.feed.name != FINDINGS.name:
        raise UsageError(f"--webhook: say --table {FINDINGS.name}, whose new errors are sent")
    if hook.progress is None:
        raise UsageError("--webhook: --progress FILE is missing, where it keeps how far it is")
    headers = dict(_header(_content("--webhook-header", text)) for text in hook.headers)
    key = _content("--webhook-key", hook.key or "")
    to = endpoint(_content("--webhook", hook.url or ""), headers, hook.form, hook.least, key)
    tell = (lambda text: complain(f"publish: {text}")) if patient else None
    return webhook(to, feed, hook.progress, tell)


def _feed(table: str) -> Feed:
    if table not in FEEDS:
        raise UsageError(f"--table {table}: expected one of {', '.join(FEEDS)}")
    return FEEDS[table]


def _properties(kafka: Kafka) -> dict[str, str]:
    """The settings of librdkafka: those of the file, overridden by those of -X, and the cluster's
    address."""
    found: dict[str, str] = {}
    if kafka.producer_config is not None:
        text = bytes_in("--producer-config", kafka.producer_config, _MOST_BYTES).decode(ENCODING)
        try:
            found |= {key: value for _, key, value in properties_in(text)}
        except DataError as error:
            raise UsageError(str(error.in_file(kafka.producer_config))) from error
    for pair in kafka.properties:
        key, is_pair, value = pair.partition("=")
        if not is_pair or not key.strip():
            raise UsageError("-X: expected NAME=VALUE, such as linger.ms=50")  # it may be secret
        found[key.strip()] = value
    if kafka.bootstrap is not None:
        found["bootstrap.servers"] = kafka.bootstrap
    if not found.get("bootstrap.servers"):
        raise UsageError("--topic: --bootstrap HOST:PORT is missing")
    return found


def _header(text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition(":")
    if not is_pair or not name.strip() or not text.isprintable():
        raise UsageError("--webhook-header: expected 'NAME: VALUE', or @FILE with that in it")
    return name.strip(), value.strip()


def _content(option: str, text: str) -> str:
    """The text of the file where `text` is @FILE, without blanks around it. Other text is returned
    as it is."""
    if not text.startswith("@"):
        return text
    return text_in(option, text[1:], _MOST_BYTES).strip()
