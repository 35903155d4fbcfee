"""Prints a running node's notices on stderr."""

from __future__ import annotations

from datetime import UTC, datetime

from jobs.cli.output import complain, json_text
from replica.errors import UsageError
from replica.node.notice import Notice, Report
from replica.raft.effects import Stopped
from replica.terminal_text import one_line

LOG_FORMATS = ("text", "json")


def reporter(log_format: str) -> Report:
    """A function that writes notices to stderr, each with its time. Raises UsageError for an
    unknown log_format."""
    if log_format not in LOG_FORMATS:
        raise UsageError(f"--log-format {log_format}: expected one of {', '.join(LOG_FORMATS)}")

    def text(notice: Notice) -> None:
        complain(f"{_now()} {one_line(notice.text)}")

    def structured(notice: Notice) -> None:
        head = {"time": _now(), "event": notice.event, "message": notice.text}
        complain(json_text({**head, **notice.fields}))

    return structured if log_format == "json" else text


def code_of(stopped: Stopped, report: Report) -> int:
    """Reports how a replica stopped. Returns 0 after an orderly stop, else 1."""
    report(Notice("stopped", f"stopped {stopped.value}", {"how": stopped.value}))
    return 0 if stopped is Stopped.GRACEFULLY else 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
