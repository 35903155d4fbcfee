"""New findings of severity error, each sent by POST to a URL: at least once.

A finding that a later capture of the same replica shows again is not new: what has been sent is
what the table's version before had, so nothing but the progress is kept. The Idempotency-Key of a
finding that is sent again, after a crash between the answer and the progress, is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import LocationValueError
from urllib3.util import Retry

from pipelines.feeds import message
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.progress_file import ProgressFile, locked
from pipelines.feeds.values import Change, Position, Progress, Row, Unit
from replica.errors import AuthenticationError, PeerError, UnreachablePeerError, UsageError

_ERROR = "error"
_IDENTITY = (
    "cluster_id", "node_id", "directory_id",
    "rule", "position", "offset", "epoch", "message",
)  # fmt: skip
"""The columns by which two findings are the same, besides the file's own name. The capture is not
one of them."""
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Endpoint:
    """headers: sent along. timeout_s: for the connection, and for each wait for the answer.
    attempts: in a row; the second comes at once, then after twice backoff_s, doubling each time up
    to a minute, or when a Retry-After says."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 10.0
    attempts: int = 6
    backoff_s: float = 0.5

    @property
    def name(self) -> str:
        """The URL without what may be a secret: user, path and query."""
        parts = urlsplit(self.url)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{parts.hostname}{port}"


def endpoint(url: str, headers: Mapping[str, str]) -> Endpoint:
    """The endpoint of a URL. UsageError: not an http or https URL."""
    try:
        found, parts = Endpoint(url, headers), urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname and found.name)
    except ValueError:  # such as a port that is no number
        is_url = False
    if not is_url:
        # the text itself may be secret
        raise UsageError("--webhook: expected a URL such as https://host/path")
    return found


class Webhook:
    """Made by `webhook`. tell: where given, an endpoint that doesn't answer is told of and tried
    again without end; else that is UnreachablePeerError. PeerError: it refuses what it is sent."""

    def __init__(
        self,
        to: Endpoint,
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

    def progress(self) -> Progress | None:
        return self._kept.read()

    def keep(self, position: Position) -> None:
        self._kept.write(Progress(self._feed.feed.name, self._feed.table_id, position))

    def publish(self, unit: Unit) -> int:
        known, sent = self._known_before(unit.start), 0
        for change in unit.changes:
            row = change.after
            if row is None or row["severity"] != _ERROR or _identity(row) in known:
                continue
            known.add(_identity(row))
            if change.ordinal < unit.start.ordinal:
                continue
            self._send(change)
            self.keep(replace(unit.start, ordinal=change.ordinal + 1))
            sent += 1
        self.keep(unit.start.following)
        return sent

    def close(self) -> None:
        self._session.close()

    def _known_before(self, start: Position) -> set[tuple[object, ...]]:
        if start.is_snapshot or start.version == 0:
            return set()
        rows = self._feed.rows(start.version - 1)
        return {_identity(row) for row in rows if row["severity"] == _ERROR}

    def _send(self, change: Change) -> None:
        while True:
            try:
                self._post(change)
                return
            except UnreachablePeerError as error:
                if self._tell is None:
                    raise
                self._tell(f"{error}; trying again")

    def _post(self, change: Change) -> None:
        name = f"{self._feed.table_id} {change.version} {change.ordinal}"
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": hashlib.sha256(name.encode()).hexdigest(),
            **self._to.headers,
        }
        try:
            answer = self._session.post(
                self._to.url,
                data=message.value(self._feed.feed, change),
                headers=headers,
                timeout=self._to.timeout_s,
                allow_redirects=False,
            )
        except LocationValueError:
            raise PeerError(self.name, "no host name: is it the right URL?") from None
        except requests.RequestException as error:  # the error's text contains the URL
            raise UnreachablePeerError(self.name, self._reason(error)) from None
        if answer.ok and not answer.is_redirect:
            return
        reason = f"answered {answer.status_code} to a finding"
        if answer.status_code in _TEMPORARY:
            raise UnreachablePeerError(self.name, f"{reason}, {self._to.attempts} times")
        if answer.status_code in (401, 403):
            raise AuthenticationError(self.name, reason)
        raise PeerError(self.name, f"{reason}: is it the right URL?")

    def _reason(self, error: requests.RequestException) -> str:
        if isinstance(error, requests.exceptions.SSLError):
            return "no TLS connection: is its certificate trusted here (REQUESTS_CA_BUNDLE)?"
        if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
            return f"no answer within {self._to.timeout_s:g} s, {self._to.attempts} times"
        return f"no connection, or it broke, {self._to.attempts} times"


@contextmanager
def webhook(
    to: Endpoint,
    feed: ChangeFeed,
    progress: str,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Webhook]:
    """progress: the file where it is kept, for one publisher at a time."""
    path = Path(progress)
    with locked(path.with_name(f".{path.name}.lock")):
        made = Webhook(to, feed, ProgressFile(path), tell)
        try:
            yield made
        finally:
            made.close()


def _identity(row: Row) -> tuple[object, ...]:
    return (row["file"].rpartition("/")[2], *(row[name] for name in _IDENTITY))
