"""New errors go to the webhook, once where it answers, again where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.feeds.publishing import publish
from pipelines.feeds.webhook import WebhookEndpoint, webhook
from replica.errors import (
    AuthenticationError,
    PeerError,
    UnreachablePeerError,
    UnwritableFileError,
    UsageError,
)
from tests.interop.kafka_node import free_ports
from tests.pipelines.feeds.feed_table import FINDINGS, FeedTable, finding
from tests.pipelines.feeds.receiver import HANG, Receiver

Tell = Callable[[str], None]


@pytest.fixture
def table(tmp_path: Path) -> FeedTable:
    made = FeedTable(tmp_path / "lake", FINDINGS)
    made.replace([finding("crc"), finding("old", severity="warning")])
    return made


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    return tmp_path / "sent.json"


def run(table: FeedTable, url: str, sent: Path, *, tell: Tell | None = None) -> int:
    to = WebhookEndpoint(
        url, {"Authorization": "Bearer T0P-SECRET"}, 0.2, attempts=3, backoff_s=0.01
    )
    feed, counts = table.opened(), list[int]()
    with webhook(to, feed, str(sent), tell) as target:
        publish(feed, target, lambda _, count: counts.append(count))
    return sum(counts)


def test_each_new_error_is_sent_once(table: FeedTable, sent: Path) -> None:
    with Receiver() as receiver:
        assert run(table, receiver.url, sent) == 1
        assert run(table, receiver.url, sent) == 0
        table.replace([finding("crc"), finding("gap", position=8), finding("old", severity="info")])
        assert run(table, receiver.url, sent) == 1
        assert receiver.messages == ["crc", "gap"]
        assert receiver.bodies[1]["op"] == "insert"
        assert len({headers["Idempotency-Key"] for headers in receiver.headers}) == 2
        assert receiver.headers[0]["Authorization"] == "Bearer T0P-SECRET"
        assert receiver.headers[0]["Content-Type"] == "application/json"


def test_a_later_capture_that_shows_an_error_again_is_nothing_new(
    table: FeedTable, sent: Path
) -> None:
    again = finding(
        "crc", capture_id="c2", file="tuesday/2/__cluster_metadata-0/" + "0" * 20 + ".log"
    )
    elsewhere = finding("crc", capture_id="c2", node_id=3)
    with Receiver() as receiver:
        run(table, receiver.url, sent)
        table.replace([finding("crc"), again, elsewhere, {**elsewhere, "capture_id": "c3"}])
        assert run(table, receiver.url, sent) == 1
        assert receiver.bodies[1]["after"]["node_id"] == 3


def test_a_finding_that_becomes_an_error_is_sent(table: FeedTable, sent: Path) -> None:
    with Receiver() as receiver:
        run(table, receiver.url, sent)
        table.replace([finding("crc"), finding("old")])
        assert run(table, receiver.url, sent) == 1
        assert (receiver.messages, receiver.bodies[1]["op"]) == (["crc", "old"], "update")


@pytest.mark.parametrize("answers", [(500, 503), (429, 408), (HANG,), (HANG, 502)])
def test_a_temporary_failure_is_tried_again(
    table: FeedTable, sent: Path, answers: tuple[int, ...]
) -> None:
    with Receiver(*answers) as receiver:
        assert run(table, receiver.url, sent) == 1
        assert receiver.messages == ["crc"] * (len(answers) + 1)
        assert len({headers["Idempotency-Key"] for headers in receiver.headers}) == 1


def test_after_a_webhook_without_an_answer_the_next_run_continues(
    table: FeedTable, sent: Path
) -> None:
    table.replace([finding("crc", position=n) for n in range(3)])
    with Receiver(200, 500, 500, 500) as receiver:
        with pytest.raises(UnreachablePeerError, match="answered 500 to a finding, 3 times"):
            run(table, receiver.url, sent)
        assert run(table, receiver.url, sent) == 2, "the first was sent again, or the third lost"
        positions = [body["after"]["position"] for body in receiver.bodies]
        assert positions == [0, 1, 1, 1, 1, 2]
    table.replace([finding("new")])
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}/"
    with pytest.raises(UnreachablePeerError, match=r"127\.0\.0\.1:\d+: no connection, or it broke"):
        run(table, nobody, sent)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..example"])
def test_a_url_whose_host_is_no_name_is_an_error_that_repeats_no_secret(
    table: FeedTable, sent: Path, host: str
) -> None:
    with pytest.raises(PeerError, match="no host name: is it the right URL") as failed:
        run(table, f"http://{host}:1/T0P-SECRET", sent)
    assert "T0P-SECRET" not in str(failed.value)


def test_a_following_publish_retries_without_end_and_says_so(table: FeedTable, sent: Path) -> None:
    told: list[str] = []
    with Receiver(*[503] * 7) as receiver:
        assert run(table, receiver.url, sent, tell=told.append) == 1
        assert len(receiver.bodies) == 8
    name = f"http://127.0.0.1:{receiver.port}"
    assert told == [f"{name}: answered 503 to a finding, 3 times; trying again"] * 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (404, PeerError),
        (400, PeerError),
        (401, AuthenticationError),
        ((302, {"Location": "/elsewhere"}), PeerError),
    ],
)
def test_a_refusal_by_the_webhook_ends_the_run_and_loses_nothing(
    table: FeedTable, sent: Path, answer: int, error: type[PeerError]
) -> None:
    with Receiver(answer) as receiver:
        with pytest.raises(error, match=r"answered (40|302)") as said:
            run(table, receiver.url, sent, tell=pytest.fail)
        assert "SECRET" not in str(said.value)
        assert len(receiver.bodies) == 1
        assert run(table, receiver.url, sent) == 1


def test_a_run_that_ends_between_answer_and_progress_sends_one_again_with_the_same_key(
    table: FeedTable, sent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.replace([finding("crc", position=n) for n in range(3)])
    with Receiver() as receiver:
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", _failing_after(4))  # progress at the start, and of the first
            with pytest.raises(UnwritableFileError):
                run(table, receiver.url, sent)
        run(table, receiver.url, sent)
        assert [body["after"]["position"] for body in receiver.bodies] == [0, 1, 1, 2]
        keys = [headers["Idempotency-Key"] for headers in receiver.headers]
        assert (keys[1] == keys[2], len(set(keys))) == (True, 3)


def _failing_after(count: int) -> Callable[[int], None]:
    calls = iter(range(count))

    def fsync(_: int) -> None:
        if next(calls, None) is None:
            raise OSError(28, "No space left on device")

    return fsync


@pytest.mark.parametrize("url", ["", "host/path", "ftp://host/", "http://", "http://host:port/"])
def test_a_webhook_that_is_no_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match=r"^--webhook: expected a URL such as https://host/path$"):
        WebhookEndpoint(url, {})


def test_secrets_of_a_url_are_not_shown() -> None:
    made = WebhookEndpoint(
        "https://user:SECRET@hooks.example:8443/SECRET?x=SECRET", {"A": "SECRET"}
    )
    assert made.name == "https://hooks.example:8443"
    assert "SECRET" not in repr(made)
