"""`kraftlake consume`: the records of a partition, from any of its replicas.

Records of a metadata log are printed as dump prints them, other records by key and value.
"""

from __future__ import annotations

import re
import sys
import time

from jobs.cli.commands.reading import ConsumeOptions
from jobs.cli.engine.connecting import addresses, client_config
from jobs.cli.output import complain, write_text
from jobs.cli.record_lines import opaque_line, record_line
from jobs.cli.redacting import make_redactor
from replica.consumer.client import Consumer
from replica.consumer.connections import WireConnections
from replica.consumer.selector import RACK_KEY, SELECTOR_KEY, selector_named
from replica.consumer.session import Session, SessionSettings
from replica.consumer.translate import TopicPartition
from replica.consumer.values import ConsumerRecord, FetchPosition, OffsetReset, Report, ResetPolicy
from replica.errors import KraftlakeError, UsageError
from replica.metadata.log_record import LogRecordReader
from replica.model.keys import METADATA_TOPIC
from replica.words import up_to

_POLL_MS = 500
_START = re.compile(r"(\d{1,18})(?::(\d{1,9}))?", re.ASCII)


class NoRecordsError(KraftlakeError):
    """No node answered in time. The text says what failed last."""


def run(options: ConsumeOptions) -> int:
    """Consumes. Returns 0, or 1 where a record doesn't decode, or where printed records were
    truncated later."""
    printing = _Printing(options)
    policy, position = _start(options.start)
    selector = selector_named({SELECTOR_KEY: options.replica_selector, RACK_KEY: options.rack})
    connections = WireConnections(
        addresses(options.bootstrap),
        TopicPartition(options.topic, options.partition),
        client_config(options.command_config),
        # The user's own selector may raise anything.
        measures=options.replica_selector not in ("leader", "rack"),
    )
    session = Session(policy, selector, position, SessionSettings(rack=options.rack))
    with Consumer(session, connections) as consumer:
        _read(consumer, session, connections, printing, options)
    return 1 if printing.damaged else 0


def _read(
    consumer: Consumer,
    session: Session,
    connections: WireConnections,
    printing: _Printing,
    options: ConsumeOptions,
) -> None:
    """Reads without an end, or with --until-end up to the high watermark in the first answer.
    Raises NoRecordsError where no node answers within the timeout."""
    end: int | None = None
    heard_at, heard, told = time.monotonic(), 0, False
    while True:
        polled = consumer.poll(_POLL_MS)
        for report in polled.reports:
            printing.report(report)
        for record in polled.records:
            printing.record(record)
        sys.stdout.flush()
        position, high_watermark = session.position, session.high_watermark
        if end is None and high_watermark >= 0:
            end = high_watermark
        if not options.follow and end is not None and position and position.offset >= end:
            return
        if not connections.trouble and connections.heard > heard:
            heard_at, heard, told = time.monotonic(), connections.heard, False
            continue
        is_silent = time.monotonic() - heard_at > options.timeout_s
        # A request may wait longer for its answer than this command does.
        trouble = connections.trouble or (f"{options.bootstrap}: no answer" if is_silent else "")
        if is_silent and (not options.follow or end is None):
            raise NoRecordsError(f"{trouble} (for {options.timeout_s:g} s)")
        # reported once until all is well again, because several nodes answer in turn
        if trouble and not told:
            complain(f"{trouble}; trying again")
            told = True


class _Printing:
    def __init__(self, options: ConsumeOptions) -> None:
        self.damaged = False
        self._json_start = '{"offset":' if options.json_output else None
        self._is_metadata = options.topic == METADATA_TOPIC
        self._name = f"{options.topic}-{options.partition}"
        self._reader = LogRecordReader(
            make_redactor(options.keep_secrets, options.redact_key, options.show_config or ())
        )

    def record(self, read: ConsumerRecord) -> None:
        """Print a record on stdout, or on stderr where it doesn't decode."""
        if not (self._is_metadata or read.is_control):
            write_text(opaque_line(read.record, read.epoch, None, self._json_start))
            return
        decoded = self._reader.read(read.record, is_control=read.is_control)
        if decoded.error is not None:
            self.damaged = True
            complain(f"{self._name}: record at offset {read.offset}: {decoded.error}")
        else:
            write_text(record_line(read.record, read.epoch, decoded, self._json_start))

    def report(self, report: Report) -> None:
        """Print a report on stderr."""
        if isinstance(report, OffsetReset):
            before, after = report.before.offset, report.after.offset
            complain(f"{self._name}: offset {before} is not in the log: going on at {after}")
            return
        self.damaged = True
        position, diverging = report.position, report.diverging
        begin = "an unknown offset" if diverging is None else f"offset {diverging.offset}"
        complain(
            f"{self._name}: records from {begin} {up_to(position.offset)} that were "
            f"printed are gone from the leader's log"
        )


def _start(text: str) -> tuple[ResetPolicy, FetchPosition | None]:
    """The policy for an offset that the log lacks, and the position at which to start; None for the
    position that the policy names. With `earliest` and `latest` reading continues after a loss, and
    a line names the loss. With an offset a loss is an error. Raises UsageError for any other
    text."""
    if text in ("earliest", "latest"):
        return ResetPolicy(text), None
    found = _START.fullmatch(text)
    if found is None:
        raise UsageError(f"--from {text}: expected earliest, latest, OFFSET or OFFSET:EPOCH")
    epoch = -1 if found[2] is None else int(found[2])
    return ResetPolicy.NONE, FetchPosition(int(found[1]), epoch)
