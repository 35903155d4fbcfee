"""Rules about segments: bytes, batches, offsets, epochs, records."""

from __future__ import annotations

from replica.doctor.check.rule import error, info, warning

_FETCH_ANEW = (
    "Keep a copy of this directory. A broker can fetch all anew into an empty one; a voter forgets "
    "by that what it acknowledged, and `kraftlake recover --plan` says how it joins again."
)
"""The next step for a damaged log. A voter must not simply begin with an empty log: if it keeps its
identity, it may vote for a leader that lacks records which the voter itself has acknowledged."""

CRC_MISMATCH = error(
    "crc-mismatch",
    "The bytes of a batch are not those that were written: its CRC-32C doesn't match.",
    "Refuses the batch wherever it checks the CRC: a follower stops fetching; a node that starts "
    "throws CorruptRecordException, or cuts the log off here.",
    _FETCH_ANEW,
    ("KAFKA-14104",),
)
FRAMING = error(
    "framing",
    "These bytes are not the start of a batch: a length was overwritten, or the bytes to which it "
    "points.",
    "Reads the log up to this byte and no further; a node that starts cuts the log off here.",
    _FETCH_ANEW,
    ("KAFKA-14104", "mojaloop/project#4259"),
)
ZERO_HOLE = error(
    "zero-hole",
    "There are zero bytes where batches should be, as after a power cut in a sparse file.",
    "Reads the log up to this byte and no further; a node that starts cuts the log off here.",
    _FETCH_ANEW,
    ("mojaloop/project#4259", "openimsdk/open-im-server#2903"),
)
UNSUPPORTED_MAGIC = error(
    "unsupported-magic",
    "A whole batch has another magic than 2. KRaft never wrote one.",
    "Stops with an unsupported magic, or treats the batch as corrupt.",
    f"Find out what wrote to this directory. {_FETCH_ANEW}",
)
TORN_TAIL = info(
    "torn-tail",
    "The last segment ends inside a batch: the node was writing, or was killed while it wrote.",
    "Cuts the unfinished batch off at the next start. The node never acknowledged it, and fetches "
    "from the leader what other nodes hold from there on.",
    "Nothing. In a copy of a running node this is normal. A disk that lost more than this batch in "
    "a power cut is another finding (stale-voter, voter-behind).",
)
TORN_SEGMENT = error(
    "torn-segment",
    "A closed segment, or a snapshot that counts as complete, ends inside a batch.",
    "Loses all records behind the torn batch of a log; can't load such a snapshot.",
    _FETCH_ANEW,
    ("mojaloop/project#4259",),
)
OFFSET_GAP = error(
    "offset-gap",
    "Offsets are missing between two batches or two segments.",
    "Doesn't notice the gap at a start, and replays to a state without the missing records.",
    f"Look for the missing segment in backups. If there is none: {_FETCH_ANEW}",
    ("KAFKA-14238",),
)
OFFSET_GOES_BACK = error(
    "offset-goes-back",
    "A batch or segment starts below the end of the one before it, or at an offset that its "
    "neighbours contradict.",
    "Never appends out of order: such a log was edited, restored or written twice.",
    _FETCH_ANEW,
    ("KAFKA-18723",),
)
SEGMENT_NAME = error(
    "segment-name",
    "A segment's first batch isn't at the offset in the file's name.",
    "Finds segments by name, so reads at some offsets give other records or none.",
    f"Restore the name if the file was renamed. Otherwise: {_FETCH_ANEW}",
)
EPOCH_GOES_BACK = error(
    "epoch-goes-back",
    "A leader epoch is lower than the one before it. In a log, epochs only increase.",
    "Finds wrong offsets by epoch, so this replica and its followers truncate their logs there.",
    _FETCH_ANEW,
    ("KAFKA-10527", "KAFKA-10706", "KAFKA-18723"),
)
EPOCH_MISMATCH = error(
    "epoch-mismatch",
    "A batch carries another leader epoch than the one that the LeaderChange record before it "
    "began. The CRC doesn't cover the epoch, so nothing else notices a flipped bit in it.",
    "Uses the wrong epoch: a fetch gets a wrong point of divergence, and the node has a wrong last "
    "epoch in elections.",
    _FETCH_ANEW,
    ("KAFKA-18723", "KAFKA-14104"),
)
BATCH_TOO_LARGE = warning(
    "batch-too-large",
    "A batch is larger than 8 MiB, the most that Kafka's Raft client writes "
    "(KafkaRaftClient.MAX_BATCH_SIZE_BYTES; internal.metadata.max.batch.size.in.bytes).",
    "Can't append such a batch: the leader steps down, and the next leader tries the same.",
    "See which records are in it (`kraftlake dump`) and what made so many of them at once.",
    ("KAFKA-14204", "AutoMQ/automq#2057"),
)
EPOCH_CHURN = info(
    "epoch-churn",
    "There were many leader epochs in a short time: elections followed one another, or failed.",
    "Continues, but commits nothing while there is no leader.",
    "Look at the controllers' pauses, their network and their quorum-state files; look for a batch "
    "above the size limit.",
    ("KAFKA-14204", "bitnami/charts#20403", "strimzi/strimzi-kafka-operator#11613"),
)
ENDLESS_ELECTIONS = warning(
    "endless-elections",
    "Leaders followed one another up to the log's end, and none of them changed the metadata.",
    "Accepts no change meanwhile: each leader resigns, or loses the majority, before it can append "
    "one.",
    "Look in the controllers' logs for what ends each leader: a batch above the size limit, a disk "
    "or network that is too slow, or clocks and timeouts that differ.",
    ("KAFKA-14204", "AutoMQ/automq#2057", "bitnami/charts#20403"),
)
CLOCK_WENT_BACK = info(
    "clock-went-back",
    "The times of records go back: a controller's clock was set, or the next leader's clock is "
    "behind. Times are no order there, offsets are.",
    "Gives each record the time of its leader's clock, and orders records by offsets alone.",
    "Compare the controllers' clocks. Near such records ask by offsets (--at-offset), not by "
    "times.",
)
UNDECODABLE_RECORD = error(
    "undecodable-record",
    "A record doesn't decode though the CRC of its batch is right: the record was written like "
    "this.",
    "Fails at the record: a broker or controller stops, or skips the batch with a metadata error.",
    "Note the offset and the writer's release; `kraftlake dump` shows the records around it.",
    ("KAFKA-13098",),
)
VENDOR_RECORD_TYPE = warning(
    "vendor-record-type",
    "A record's type has a number far above all of Kafka's: another product wrote it. The replay "
    "stops there, and nothing is known of the state behind it.",
    "Stops at such a record, in every release.",
    "Find out which product, or which fork of Kafka, this cluster runs. If its own records change "
    "no state of Kafka's, name their types with --pass-over, such as --pass-over vendors.",
    ("AutoMQ/automq#319",),
)
RECORD_PASSED_OVER = info(
    "record-passed-over",
    "--pass-over names the type of a record, which this release doesn't know: what is said of the "
    "cluster is true only if such records change none of Kafka's own state.",
    "Stops at such a record, in every release; the product that wrote it doesn't.",
    "Nothing, if the product's documentation says that its records change no state of Kafka's.",
)
UNKNOWN_RECORD_TYPE = warning(
    "unknown-record-type",
    "This release of kraftlake doesn't know the type of a record: the replay stops there, and "
    "nothing is known of the state behind it.",
    "Stops, too, at a type that its own release doesn't know.",
    "A newer Kafka writes more types: use a release of kraftlake that is as new as the cluster. If "
    "the cluster is not newer, find out what wrote the record.",
    ("KAFKA-15412",),
)
UNKNOWN_RECORD_VERSION = warning(
    "unknown-record-version",
    "This release of kraftlake knows the type of a record, but not its version: the replay stops "
    "there, and nothing is known of the state behind it.",
    "Reads the record on a node that is as new as the writer.",
    "Use a release of kraftlake that is as new as the cluster. This release judges the files, but "
    "not the state.",
)
UNAPPLIABLE_RECORD = error(
    "unappliable-record",
    "A record can't be applied to the state before it: the entity that it changes doesn't exist, "
    "or has another broker epoch.",
    "Reports a metadata error and goes on without the record, or stops; a broker may restart in a "
    "loop.",
    "Read the record and the earlier ones named here with `kraftlake dump --from-offset`.",
    ("bitnami/containers#80381", "bitnami/charts#29167", "KAFKA-19497"),
)
OPEN_TRANSACTION = info(
    "open-transaction",
    "The log ends inside a metadata transaction: BEGIN without END or ABORT.",
    "Doesn't apply the transaction's records until it ends; a new leader aborts it.",
    "Nothing, unless the transaction stays open: then Kafka applies no newer record, so look in "
    "the controllers' logs for the cause.",
    ("KAFKA-17713",),
)

NOT_KNOWN = frozenset({UNKNOWN_RECORD_TYPE.id, UNKNOWN_RECORD_VERSION.id, VENDOR_RECORD_TYPE.id})
"""The ids of the rules about records that this release doesn't know. Their findings don't make a
log or a snapshot invalid."""
DAMAGED = (CRC_MISMATCH, FRAMING, OFFSET_GAP, OFFSET_GOES_BACK, EPOCH_GOES_BACK)
"""The rules about damage inside a log."""
