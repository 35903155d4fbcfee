"""Findings in the forms that the webhooks of Slack, PagerDuty (Events API v2) and Alertmanager (API
v2) take.

An alert is a finding with a key. A finding of a health rule stays the same alert where its words
change. Pure functions of values; docs/how-to/feed-others.md has the forms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipelines.feeds import chat_text
from pipelines.feeds.message import compact
from pipelines.feeds.values import Row
from replica.shell_text import line
from replica.terminal_text import one_line

FIRING_MS = 30 * 24 * 60 * 60 * 1000
"""For how long Alertmanager takes an unresolved finding as firing: as long as the change feed could
still report it."""
_SUBJECTS = 5
_SUMMARY_CHARACTERS = 1_024
_OF_FILES = ("node_id", "directory_id", "position", "offset", "epoch", "message")


@dataclass(frozen=True, slots=True)
class Alert:
    """A finding that is new, or resolved."""

    row: Row
    """The finding's row of gold.findings; of a resolved finding, its last row."""
    key: str
    """The key of the alert. It stays the same until the finding is resolved."""
    at_ms: int
    """The time of the build that reported the finding, in ms since 1970 (UTC)."""
    is_resolved: bool = False
    routing_key: str = ""
    """PagerDuty's key of the service; empty for the other forms."""


Shape = Callable[[Alert], bytes]
"""Makes the body of the request for an alert."""


def alert_key(row: Row) -> str:
    """The alert's key, the same in each capture that shows the finding: SHA-256, in hexadecimal
    digits, of cluster and rule. For a finding that is not of health, its place and words count
    too."""
    parts = [row["cluster_id"], row["family"], row["rule"]]
    if row["family"] != "health":
        parts += [row["file"].rpartition("/")[2], *(row[name] for name in _OF_FILES)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def slack(alert: Alert) -> bytes:
    """The message of an incoming webhook. A resolved finding is a message too, because Slack has no
    alerts."""
    row = alert.row
    state = "resolved" if alert.is_resolved else row["severity"]
    rule, cluster = row["rule"], row["cluster_id"]
    sign = ":white_check_mark:" if alert.is_resolved else _SIGNS[row["severity"]]
    head = f"{sign} *{state}* {chat_text.code(rule)} in cluster {chat_text.code(cluster)}"
    subjects = [] if alert.is_resolved else [f"• {one}" for one in _subjects(row)]
    sections = (chat_text.headline(head), chat_text.plain([_told(row), *subjects]))
    fallback = chat_text.escaped(f"{state}: {rule} in cluster {cluster}")
    blocks = [{"type": "section", "text": text} for text in sections]
    return compact({"text": fallback, "mrkdwn": False, "blocks": blocks})


def pagerduty(alert: Alert) -> bytes:
    """An event of the Events API v2: trigger, or resolve with the same dedup_key."""
    row = alert.row
    event = {
        "routing_key": alert.routing_key,
        "event_action": "resolve" if alert.is_resolved else "trigger",
        "dedup_key": alert.key,
    }
    if alert.is_resolved:
        return compact(event)
    payload = {
        "summary": f"{row['rule']}: {_told(row)}"[:_SUMMARY_CHARACTERS],
        "source": row["cluster_id"],
        "severity": row["severity"],
        "timestamp": _time(alert.at_ms),
        "component": "cluster" if row["family"] == "health" else f"node {row['node_id']}",
        "group": row["cluster_id"],
        "class": row["rule"],
        "custom_details": _details(row),
    }
    return compact({**event, "payload": payload, "client": "kraftlake"})


def alertmanager(alert: Alert) -> bytes:
    """A list of one alert, as POST /api/v2/alerts takes it. A resolved alert has an end."""
    row = alert.row
    labels = {
        "alertname": row["rule"],
        "severity": row["severity"],
        "cluster_id": row["cluster_id"],
        "family": row["family"],
        "key": alert.key[:16],
    }
    if row["family"] != "health":
        labels["node_id"] = str(row["node_id"])
    found: dict[str, Any] = {"labels": labels, "annotations": _annotations(row)}
    if alert.is_resolved:
        found["endsAt"] = _time(alert.at_ms)
    else:
        found["startsAt"] = _time(alert.at_ms)
        found["endsAt"] = _time(alert.at_ms + FIRING_MS)
    return compact([found])


SHAPES: Mapping[str, Shape] = {
    "slack": slack,
    "pagerduty": pagerduty,
    "alertmanager": alertmanager,
}
_SIGNS = {
    "error": ":red_circle:",
    "warning": ":large_orange_circle:",
    "info": ":large_blue_circle:",
}


def _explain(row: Row) -> str:
    return line("kraftlake", "explain", row["rule"])


def _annotations(row: Row) -> dict[str, str]:
    found = {"summary": _told(row), "explain": _explain(row)}
    subjects = _subjects(row)
    if subjects:
        found["subjects"] = "; ".join(subjects)
    return found


def _details(row: Row) -> dict[str, Any]:
    named = ("node_id", "directory_id", "file", "position", "offset", "epoch", "message")
    found = {name: row[name] for name in named if row[name] is not None}
    return {**found, "subjects": _subjects(row), "explain": _explain(row)}


def _told(row: Row) -> str:
    """The finding in one line, with escapes: its message may hold names that a stranger chose."""
    where = "" if row["family"] == "health" else f"node {row['node_id']}, {row['file']}: "
    return one_line(" ".join(f"{where}{row['message']}".split()))


def _subjects(row: Row) -> list[str]:
    """The first few subjects of a finding of health, a line each."""
    found = json.loads(row["subjects"] or "[]")
    shown = [
        one_line(" ".join(f"{one['name']}: {one['what']}".split())) for one in found[:_SUBJECTS]
    ]
    rest = len(found) - len(shown)
    return [*shown, f"and {rest} more"] if rest else shown


def _time(at_ms: int) -> str:
    found = datetime.fromtimestamp(at_ms / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
