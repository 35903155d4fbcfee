"""Judges the time in a snapshot's header, LastContainedLogTimestamp."""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.check.catalogue import snapshots
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.format.directory import SnapshotFile
from replica.format.segment import chosen
from replica.model.epochs import OffsetAndEpoch


def judge_snapshot_time(
    examined: Examined, snapshot: SnapshotFile, snapshot_id: OffsetAndEpoch
) -> Iterator[Finding]:
    """The finding about a LastContainedLogTimestamp that Kafka can't have written at this end.

    Kafka takes it from the last batch that was applied (MetadataBatchLoader), which a follower
    reads from its log. A leader reads it from the batch's buffer after it has given the buffer back
    (KafkaRaftClient.appendBatch, Kafka 3.7 to 4.4), so a batch that it appended later may have put
    its own time there. If that batch never came into the log, it was the last of the epoch.
    """
    told = snapshot.content.last_contained_log_timestamp
    end, epoch = snapshot_id.offset, snapshot_id.epoch
    written = [record.timestamp for _, record in examined.records(end - 1, end)]
    if told is None or not written or told == written[0]:
        return
    later = [
        batch.header.max_timestamp
        for segment in examined.directory.segments
        if segment.end_offset > end
        for batch in chosen(
            segment.scan.batches,
            ("base_offset", "leader_epoch"),
            lambda first, of_epoch: (first >= end) & (of_epoch == epoch),
        )
    ]
    is_before = told < written[0]
    is_between = not examined.hides_entries and told < max(later, default=told)
    if told not in later and (is_before or is_between):
        message = (
            f"{told} in the header; the record at offset {end - 1} was appended {written[0]}, and "
            f"no later batch of epoch {epoch} at that time"
        )
        place = {"offset": end, "epoch": epoch}
        yield snapshots.SNAPSHOT_TIMESTAMP.at(snapshot.file.path, message, position=0, **place)
