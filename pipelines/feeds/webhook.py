"""New findings, of severity error or also warning, each sent by POST to a URL: at least once.

A finding that a later capture of the same replica shows again is not new. The findings that were
sent before are those of the table's version before, so only the progress is kept. A finding that is
sent again, after a crash between the answer and the progress, has the same Idempotency-Key.

As JSON, a finding is sent when it is new. In a form of alert_shapes it is also sent when it is
resolved: when its last row is gone, or has a lesser severity.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import LocationValueError
from urllib3.util import Retry

from pipelines.capture.patience import TooSlowError, within
from pipelines.feeds import message
from pipelines.feeds.alert_shapes import SHAPES, Alert, alert_key
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.files import ProgressFile, locked
from pipelines.feeds.values import FeedPosition, FeedProgress, Row, RowChange
from replica.errors import AuthenticationError, PeerError, UnreachablePeerError, UsageError

JSON = "json"
FORMATS = (JSON, *SHAPES)
SEVERITIES = {"error": frozenset({"error"}), "warning": frozenset({"error", "warning"})}
"""By the least severity that is sent: all severities that are sent."""
_IDENTITY = (
    "cluster_id", "node_id", "directory_id",
    "rule", "position", "offset", "epoch", "message",
)  # fmt: skip
"""The columns that identify a finding, besides the file's own name. The capture is not
among them."""
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class WebhookEndpoint:
    """An endpoint and how to send to it.

    Raises UsageError for a text that is no http or https URL, an unknown form or severity, and a
    key for a form that takes none.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The HTTP headers that are sent with each request."""
    timeout_s: float = 10.0
    """The longest time for the connection, and for each wait for the answer, in seconds."""
    attempts: int = 6
    """The number of attempts in a row. The second comes at once, the third after twice backoff_s,
    and each later one after twice the pause before, up to a minute. Where the answer has
    Retry-After, the next attempt waits for that time."""
    backoff_s: float = 0.5
    limit_s: float = 180.0
    """The longest time of one request in seconds, however slowly the answer arrives."""
    form: str = JSON
    """The form of the messages, one of FORMATS."""
    least: str = "error"
    """The least severity of the findings that are sent, one of SEVERITIES."""
    routing_key: str = field(default="", repr=False)
    """PagerDuty's key of the service."""

    def __post_init__(self) -> None:
        if self.form not in FORMATS:
            raise UsageError(f"--webhook-format {self.form}: expected one of {', '.join(FORMATS)}")
        if self.least not in SEVERITIES:
            raise UsageError(f"--webhook-severity {self.least}: expected {' or '.join(SEVERITIES)}")
        if (self.form == "pagerduty") != bool(self.routing_key):
            raise UsageError("--webhook-key: the format pagerduty needs it, and no other does")
        try:
            parts = urlsplit(self.url)
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname and self.name)
        except ValueError:  # such as a port that is no number
            is_url = False
        if not is_url:
            # the text itself may be secret
            raise UsageError("--webhook: expected a URL such as https://host/path")

    @property
    def name(self) -> str:
        """The URL without its parts that may be secret: user, path and query."""
        parts = urlsplit(self.url)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{parts.hostname}{port}"


class Webhook:
    """Sends findings to an endpoint. The function `webhook` makes this object.

    tell: is called when the endpoint doesn't answer; the finding is then sent again, without end.
    Raises UnreachablePeerError instead where `tell` is None, and PeerError where the endpoint
    refuses.
    """

    def __init__(
        self,
        to: WebhookEndpoint,
        feed: ChangeFeed,
        kept: ProgressFile,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.name = to.name
        self._to = to
        self._feed = feed
        self._kept = kept
        self._tell = tell
        self._session = requests.Session()
        retries = Retry(
            total=to.attempts - 1,
            backoff_factor=to.backoff_s,
            backoff_max=60,
            backoff_jitter=to.backoff_s,
            status_forcelist=_TEMPORARY,
            allowed_methods=None,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retries))

    def progress(self) -> FeedProgress | None:
        return self._kept.read()

    def keep(self, position: FeedPosition) -> None:
        self._kept.write(FeedProgress(self._feed.feed.name, self._feed.table_id, position))

    def publish(self, start: FeedPosition, changes: Iterable[RowChange]) -> int:
        known, sent = self._known_before(start), 0

        @cache
        def standing() -> set[str]:
            """The keys of the alerts whose findings this version has. `_ended` adds the keys of
            alerts that it has reported as resolved."""
            rows = self._feed.rows(start.version)
            return {alert_key(row) for row in rows if self._counts(row)}

        for change in changes:
            body = self._new(change, known) or self._ended(change, standing)
            if body is None or change.ordinal < start.ordinal:
                continue
            self._send(change, body)
            self.keep(replace(start, ordinal=change.ordinal + 1))
            sent += 1
        self.keep(start.following)
        return sent

    def _counts(self, row: Row | None) -> bool:
        return row is not None and row["severity"] in SEVERITIES[self._to.least]

    def _new(self, change: RowChange, known: set[tuple[object, ...]]) -> bytes | None:
        """The body of the request for a new finding of this change; None where the change has none.
        known: the findings that were sent before; a new finding is added."""
        row = change.after
        if row is None or not self._counts(row) or _identity(row) in known:
            return None
        known.add(_identity(row))
        if self._to.form == JSON:
            return message.value(self._feed.feed, change)
        return self._told(change, row)

    def _ended(self, change: RowChange, standing: Callable[[], set[str]]) -> bytes | None:
        """The body of the request that says that a finding is resolved, once for each alert: its
        last row is gone after this change, or has a lesser severity. None where there is nothing to
        say. standing: gives the keys of alerts that need no such request; its first call reads all
        rows of the version."""
        row = change.before
        if self._to.form == JSON or row is None or not self._counts(row):
            return None
        key = alert_key(row)
        if self._counts(change.after) or key in standing():
            return None
        standing().add(key)
        return self._told(change, row, is_resolved=True)

    def _told(self, change: RowChange, row: Row, *, is_resolved: bool = False) -> bytes:
        at_ms = int(time.time() * 1000) if change.committed_at is None else change.committed_at
        alert = Alert(row, alert_key(row), at_ms, is_resolved, self._to.routing_key)
        return SHAPES[self._to.form](alert)

    def close(self) -> None:
        self._session.close()

    def _known_before(self, start: FeedPosition) -> set[tuple[object, ...]]:
        if start.is_snapshot or start.version == 0:
            return set()
        rows = self._feed.rows(start.version - 1)
        return {_identity(row) for row in rows if self._counts(row)}

    def _send(self, change: RowChange, body: bytes) -> None:
        while True:
            try:
                self._post(change, body)
                return
            except UnreachablePeerError as error:
                if self._tell is None:
                    raise
                self._tell(f"{error}; trying again")

    def _post(self, change: RowChange, body: bytes) -> None:
        name = f"{self._feed.table_id} {change.version} {change.ordinal}"
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": hashlib.sha256(name.encode()).hexdigest(),
            **self._to.headers,
        }
        try:
            answer = within(self._to.limit_s, lambda _: self._answer(body, headers))
        except LocationValueError:
            raise PeerError(self.name, "no host name: is it the right URL?") from None
        except TooSlowError:
            why = f"no whole answer within {self._to.limit_s:g} s"
            raise UnreachablePeerError(self.name, why) from None
        except requests.RequestException as error:  # its text has the URL
            raise UnreachablePeerError(self.name, self._reason(error)) from None
        if answer.ok and not answer.is_redirect:
            return
        reason = f"answered {answer.status_code} to a finding"
        if answer.status_code in _TEMPORARY:
            raise UnreachablePeerError(self.name, f"{reason}, {self._to.attempts} times")
        if answer.status_code in (401, 403):
            raise AuthenticationError(self.name, reason)
        raise PeerError(self.name, f"{reason}: is it the right URL?")

    def _answer(self, body: bytes, headers: Mapping[str, str]) -> requests.Response:
        """The status and headers of an answer; its content is not read."""
        with self._session.post(
            self._to.url,
            data=body,
            headers=dict(headers),
            timeout=self._to.timeout_s,
            allow_redirects=False,
            stream=True,
        ) as answer:
            return answer

    def _reason(self, error: requests.RequestException) -> str:
        if isinstance(error, requests.exceptions.SSLError):
            return "no TLS connection: is its certificate trusted here (REQUESTS_CA_BUNDLE)?"
        if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
            return f"no answer within {self._to.timeout_s:g} s, {self._to.attempts} times"
        return f"no connection, or it broke, {self._to.attempts} times"


@contextmanager
def webhook(
    to: WebhookEndpoint,
    feed: ChangeFeed,
    progress: str,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Webhook]:
    """The webhook of an endpoint. progress: the file that keeps the progress, for one publisher at
    a time. tell: as in Webhook."""
    path = Path(progress)
    with (
        locked(path.with_name(f".{path.name}.lock")),
        closing(Webhook(to, feed, ProgressFile(path), tell)) as made,
    ):
        yield made


def _identity(row: Row) -> tuple[object, ...]:
    return (row["file"].rpartition("/")[2], *(row[name] for name in _IDENTITY))
