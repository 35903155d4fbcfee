"""Fetches at the log end that wait for news, and how any fetch is answered (Kafka: the fetch
purgatory, buildFetchResponse)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.history.fetch import Diverging, Records, Snapshot
from replica.model.epochs import OffsetAndEpoch
from replica.raft.core import Core
from replica.raft.effects import LogRead
from replica.raft.messages import FetchRequest, FetchResponse


def serve_parked(core: Core) -> None:
    """Answer fetches that records or a newer high watermark have arrived for."""
    waiting, core.parked = core.parked, ()
    kept = []
    for fetch in waiting:
        if has_news(core, fetch.request):
            answer(core, fetch.request_id, fetch.request, Records())
        else:
            kept.append(fetch)
    core.parked = (*core.parked, *kept)


def expire_parked(core: Core) -> None:
    """Answer fetches that have waited long enough: empty, no error."""
    due = [fetch for fetch in core.parked if fetch.deadline <= core.now]
    core.parked = tuple(fetch for fetch in core.parked if fetch.deadline > core.now)
    for fetch in due:
        answer(core, fetch.request_id, fetch.request, Records())


def has_news(core: Core, request: FetchRequest) -> bool:
    """Records, or a high watermark the sender doesn't know (KIP-1166)."""
    if request.fetch_offset < core.log.log_end:
        return True
    known, current = request.high_watermark, core.high_watermark
    return known is not None and current is not None and known < current


def answer(
    core: Core,
    request_id: Hashable,
    request: FetchRequest,
    decision: Records | Diverging | Snapshot,
) -> None:
    """Say what was decided; the host reads the records."""
    response = FetchResponse(high_watermark=core.high_watermark, log_start=core.log.log_start)
    read = None
    if isinstance(decision, Diverging):
        diverging = OffsetAndEpoch(decision.end_offset, decision.epoch)
        response = replace(response, diverging=diverging)
    elif isinstance(decision, Snapshot):
        response = replace(response, snapshot_id=decision.snapshot_id)
    elif request.fetch_offset < core.log.log_end:
        limit = min(request.max_bytes, core.config.response_max_bytes)
        read = LogRead(request.fetch_offset, limit)
    core.reply(request_id, core.signed(response), read)
