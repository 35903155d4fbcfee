"""A change in the form that consumers get: a key, and an envelope in JSON that schema.py
describes."""

from __future__ import annotations

import json
from typing import Any

from pipelines.feeds.tables import Feed
from pipelines.feeds.values import RowChange


def key(feed: Feed, change: RowChange) -> bytes:
    """The key columns as a JSON object in UTF-8."""
    return compact({name: change.row[name] for name in feed.key})


def value(feed: Feed, change: RowChange) -> bytes:
    """The envelope as one line of JSON in UTF-8, without a line end."""
    return compact(
        {
            "table": feed.name,
            "version": change.version,
            "ordinal": change.ordinal,
            "op": change.op,
            "committed_at": change.committed_at,
            "before": change.before,
            "after": change.after,
        }
    )


def compact(content: Any) -> bytes:
    """JSON without blanks, in UTF-8."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()
