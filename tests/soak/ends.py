"""The content of each stage at the end, read by other means for each, and whether all of it is
equal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import FEEDS
from pipelines.lake.redaction import FILE_NAME as KEY_NAME
from pipelines.tables.gold import METADATA_CHANGES
from replica.format.discovery import discover
from replica.metadata.redact import Redactor
from replica.scan.segments import scan
from tests.interop.kafka_dump import kafka_dump
from tests.soak.commands import ENDED_S

_DUMPED = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) .*partitionLeaderEpoch: (\d+) .*crc: (\d+) "
    r"isvalid: (true|false)",
    re.MULTILINE,
)
_HELD = "FROM {} WHERE truncated_at IS NULL AND removed_at IS NULL"
_SAME_BATCH = " AND ".join(
    f"r.{key} = b.{key}"
    for key in ("cluster_id", "node_id", "directory_id", "base_offset", "leader_epoch", "crc")
)


class Batch(NamedTuple):
    """A record batch as every stage names it. Its offsets are inclusive."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int

    @property
    def records(self) -> int:
        return self.last_offset - self.base_offset + 1


def dumped(partition: Path, end: int) -> list[Batch]:
    """The batches below the offset `end` of a node's log, by kafka-dump-log."""
    ran = kafka_dump(sorted(partition.glob("*.log")), within_s=ENDED_S)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    found = _DUMPED.findall(ran.stdout)
    assert all(valid == "true" for *_, valid in found)
    batches = [Batch(*map(int, numbers)) for *numbers, _ in found]
    return [batch for batch in batches if batch.base_offset < end]


def recorded(folder: Path) -> list[Batch]:
    """The batches of all logs at or below a folder, by our reader."""
    return [
        Batch(header.base_offset, header.last_offset, header.leader_epoch, header.crc)
        for one in discover([str(folder)])
        for segment in one.read(scan=scan).segments  # type: ignore[union-attr]
        for header in (located.header for located in segment.scan.batches)
    ]


class LakeTables:
    """A lake's tables, by delta-rs."""

    def __init__(self, lake: Path) -> None:
        self._lake = lake

    def rows(self, query: str, *tables: str) -> list[tuple[Any, ...]]:
        """The rows of a query in which layer.table is called layer_table."""
        from deltalake import DeltaTable, QueryBuilder

        builder = QueryBuilder()
        for table in tables:
            opened = DeltaTable(str(self._lake / table.replace(".", "/")))
            builder = builder.register(table.replace(".", "_"), opened)
        found: Any = builder.execute(query).read_all()
        columns = [found.column(name).to_pylist() for name in found.column_names]
        return list(zip(*columns, strict=True))

    def number(self, query: str, *tables: str) -> int:
        """The number in the result of a query with one row and one column."""
        ((found,),) = self.rows(query, *tables)
        return int(found or 0)

    def log_end(self) -> int:
        """The highest end (exclusive) of a log that a finished ingest has brought; 0 where there is
        none."""
        if not (self._lake / "bronze" / "captures" / "_delta_log").is_dir():
            return 0
        return self.number("SELECT max(log_end_offset) FROM bronze_captures", "bronze.captures")

    def batches(self) -> list[Batch]:
        """The batches of bronze.log_batches that the newest capture holds."""
        columns = "base_offset, last_offset, leader_epoch, crc"
        query = f"SELECT {columns} {_HELD.format('bronze_log_batches')} ORDER BY base_offset"
        return [Batch(*row) for row in self.rows(query, "bronze.log_batches")]

    def as_shown(self, batches: Iterable[Batch]) -> list[Batch]:
        """The batches with the CRCs that the lake shows. A batch with secrets has another CRC
        there, by the lake's key."""
        columns = "DISTINCT base_offset, leader_epoch"
        query = f"SELECT {columns} FROM bronze_log_records WHERE value IS NULL"
        withheld = set(self.rows(query, "bronze.log_records"))
        redactor = Redactor((self._lake / KEY_NAME).read_bytes())
        return [
            one._replace(crc=redactor.batch_crc(one.base_offset, one.crc))
            if (one.base_offset, one.leader_epoch) in withheld
            else one
            for one in batches
        ]

    def truncated_records(self) -> int:
        """The number of records that the lake holds though the quorum truncated them."""
        query = f"""SELECT count(*) FROM bronze_log_records r
            JOIN (SELECT * FROM bronze_log_batches WHERE truncated_at IS NOT NULL) b
            ON {_SAME_BATCH}"""
        return self.number(query, "bronze.log_records", "bronze.log_batches")

    def record_offsets(self) -> tuple[int, int]:
        """(rows of bronze.log_records in these batches, number of different offsets)."""
        query = f"""SELECT count(*), count(DISTINCT r."offset") FROM bronze_log_records r
            JOIN (SELECT * {_HELD.format("bronze_log_batches")}) b ON {_SAME_BATCH}"""
        ((rows, offsets),) = self.rows(query, "bronze.log_records", "bronze.log_batches")
        return rows, offsets

    def committed(self) -> list[tuple[int, int, int]]:
        """(offset, epoch, CRC of its batch) of silver.committed_log, by offset."""
        query = 'SELECT "offset", leader_epoch, crc FROM silver_committed_log ORDER BY "offset"'
        return self.rows(query, "silver.committed_log")


def by_offset(batches: Iterable[Batch]) -> list[tuple[int, int, int]]:
    """(offset, epoch, CRC of its batch), as LakeTables.committed has them."""
    return [
        (offset, batch.leader_epoch, batch.crc)
        for batch in batches
        for offset in range(batch.base_offset, batch.last_offset + 1)
    ]


@dataclass(frozen=True)
class Messages:
    """A topic's committed messages, folded. places: the number of different (version, ordinal).
    rows: the digest of the row that the messages leave, by the table's keys."""

    count: int
    places: int
    rows: dict[tuple[Any, ...], bytes]


def folded(values: Iterable[bytes]) -> Messages:
    """The messages folded. values: of all messages of gold.metadata_changes, in any order."""
    places: set[tuple[int, int]] = set()
    newest: dict[tuple[Any, ...], tuple[tuple[int, int], bytes | None]] = {}
    count = 0
    for value in values:
        count += 1
        message = json.loads(value)
        place = message["version"], message["ordinal"]
        places.add(place)
        after = message["after"]
        key = _key(after or message["before"])
        if key not in newest or newest[key][0] < place:
            newest[key] = place, None if after is None else _digest(after)
    rows = {key: row for key, (_, row) in newest.items() if row is not None}
    return Messages(count, len(places), rows)


def table_rows(lake: Path) -> dict[tuple[Any, ...], bytes]:
    """The rows of gold.metadata_changes in the form of `folded`."""
    name = METADATA_CHANGES.name
    feed = ChangeFeed(str(lake / name.replace(".", "/")), FEEDS[name])
    return {_key(row): _digest(row) for row in feed.rows(feed.newest())}


def feed_changes(lake: Path) -> int:
    """The number of changes in the table's change data feed since its first version with rows."""
    name = METADATA_CHANGES.name
    feed = ChangeFeed(str(lake / name.replace(".", "/")), FEEDS[name])
    return sum(1 for version in range(1, feed.newest() + 1) for _ in feed.changes(version))


def _key(row: Any) -> tuple[Any, ...]:
    return tuple(row[name] for name in METADATA_CHANGES.keys)


def _digest(row: Any) -> bytes:
    return hashlib.sha256(json.dumps(dict(row), sort_keys=True).encode()).digest()


def consumed(bootstrap: str, topic: str) -> Iterator[bytes]:
    """The values of all committed messages of a topic, to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "soak",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = set(consumer.list_topics(topic, 60).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
        while partitions:
            for message in consumer.consume(1000, 60):
                error = message.error()
                if error is None:
                    yield message.value()
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    partitions.discard(message.partition())
    finally:
        consumer.close()
