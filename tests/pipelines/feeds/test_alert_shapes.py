"""Findings as Slack, PagerDuty and Alertmanager take them: once when they come, once when they are
resolved, and under one key all the while."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.feeds.alert_shapes import Alert, slack
from pipelines.feeds.publishing import publish
from pipelines.feeds.webhook import WebhookEndpoint, webhook
from replica.errors import UnreachablePeerError, UsageError
from tests.architecture.test_tidy import TOP_LEVEL, python_files
from tests.pipelines.feeds.feed_table import FINDINGS, FeedTable, finding
from tests.pipelines.feeds.receiver import Receiver

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"


def health(message: str, **others: Any) -> dict[str, Any]:
    """A row of a rule of health; of severity warning unless told otherwise."""
    subjects = [
        {"name": f"orders-{n}", "what": "in sync [1] <of> [1, 2]", "offset": n} for n in range(7)
    ]
    return finding(
        message,
        **{
            "rule": "partition-below-min-isr",
            "severity": "warning",
            "family": "health",
            "position": None,
            "subjects": json.dumps(subjects),
            **others,
        },
    )


@pytest.fixture
def table(tmp_path: Path) -> FeedTable:
    made = FeedTable(tmp_path / "lake", FINDINGS)
    made.replace([finding("crc"), finding("a note", severity="info")])
    return made


def run(table: FeedTable, url: str, form: str, *, least: str = "warning", **others: Any) -> int:
    key = "R0UTING-KEY" if form == "pagerduty" else ""
    to = WebhookEndpoint(url, {}, 0.5, attempts=2, backoff_s=0.01, form=form, least=least,
                  routing_key=key, **others)  # fmt: skip
    counts: list[int] = []
    sent = Path(table.path).parent / f"{form}.json"
    with webhook(to, table.opened(), str(sent)) as target:
        publish(table.opened(), target, lambda _, count: counts.append(count))
    return sum(counts)


def played(table: FeedTable, receiver: Receiver, form: str) -> list[Any]:
    """The bodies of: an error, a warning besides, its words changed, and both gone."""
    assert run(table, receiver.url, form) == 1
    table.replace([finding("crc"), health("2 of 9 partitions")])
    assert run(table, receiver.url, form) == 1
    table.replace([finding("crc"), health("7 of 9 partitions")])
    assert run(table, receiver.url, form) == 1
    assert run(table, receiver.url, form) == 0
    table.replace([health("none of 9 partitions", severity="info")])
    assert run(table, receiver.url, form) == 2
    assert run(table, receiver.url, form) == 0
    return receiver.bodies


def test_pagerduty_gets_a_trigger_and_a_resolve_under_one_key(table: FeedTable) -> None:
    with Receiver() as receiver:
        crc, warning, changed, *resolved = played(table, receiver, "pagerduty")
    assert {body["routing_key"] for body in receiver.bodies} == {"R0UTING-KEY"}
    assert [body["event_action"] for body in (crc, warning, changed)] == ["trigger"] * 3
    assert warning["dedup_key"] == changed["dedup_key"] != crc["dedup_key"]
    assert [body["event_action"] for body in resolved] == ["resolve"] * 2
    assert {body["dedup_key"] for body in resolved} == {crc["dedup_key"], warning["dedup_key"]}
    payload = warning["payload"]
    assert payload["severity"] == "warning"
    assert payload["source"] == CLUSTER
    assert payload["summary"] == "partition-below-min-isr: 2 of 9 partitions"
    assert payload["custom_details"]["subjects"][-1] == "and 2 more"
    assert datetime.fromisoformat(payload["timestamp"]).year >= 2024
    assert crc["payload"]["component"] == "node 2"


def test_alertmanager_gets_an_alert_that_ends_when_it_is_resolved(table: FeedTable) -> None:
    with Receiver() as receiver:
        bodies = played(table, receiver, "alertmanager")
    (crc,), (warning,), (changed,), *resolved = bodies
    assert warning["labels"] == changed["labels"] != crc["labels"]
    assert warning["labels"]["alertname"] == "partition-below-min-isr"
    assert warning["labels"]["severity"] == "warning"
    assert changed["annotations"]["summary"] == "7 of 9 partitions"
    assert crc["startsAt"] < crc["endsAt"]
    for (over,) in resolved:
        assert "startsAt" not in over
        assert over["endsAt"] < warning["endsAt"]
    assert {over["labels"]["key"] for (over,) in resolved} == {
        crc["labels"]["key"],
        warning["labels"]["key"],
    }


def test_slack_gets_a_message_that_names_subjects_and_none_of_its_own_signs(
    table: FeedTable,
) -> None:
    with Receiver() as receiver:
        crc, warning, _, *resolved = played(table, receiver, "slack")
    assert crc["text"] == f"error: batch-crc in cluster {CLUSTER}"
    head, details = (block["text"] for block in warning["blocks"])
    assert f"*warning* `partition-below-min-isr` in cluster `{CLUSTER}`" in head["text"]
    assert "orders-0: in sync [1] &lt;of&gt; [1, 2]" in details["text"]
    assert details["text"].endswith("and 2 more")
    assert sorted(body["text"].split(":")[0] for body in resolved) == ["resolved"] * 2


NOTIFYING = ("<!channel>", "<!here>", "<@U012>", "<https://a.test|kafka.apache.org>")
FORMATTING = (
    "`",
    "*bold*",
    "_x_",
    "~y~",
    "\n> quoted",
    "\n:white_check_mark: *resolved*",
    "\u202e",
)


@pytest.mark.parametrize("text", [*NOTIFYING, *FORMATTING])
def test_no_name_of_a_stranger_s_cluster_calls_a_channel_of_slack_or_formats_a_message(
    text: str,
) -> None:
    """A cluster's id is what its meta.properties says."""
    subjects = json.dumps([{"name": text, "what": text}])
    names = {"cluster_id": text, "rule": text, "family": "health", "subjects": subjects}
    row = finding(text, severity="error", **names)
    for is_resolved in (False, True):
        told = json.loads(slack(Alert(row, "key", 0, is_resolved)))
        head, details = (block["text"] for block in told["blocks"])
        assert (head["type"], head["verbatim"]) == ("mrkdwn", True)
        state = "resolved" if is_resolved else "error"
        assert re.fullmatch(rf":\w+: \*{state}\* `[^`\n]*` in cluster `[^`\n]*`", head["text"])
        assert (details["type"], details["emoji"]) == ("plain_text", False)
        assert len(details["text"].splitlines()) == (1 if is_resolved else 2)
        assert told["mrkdwn"] is False
        for shown in (told["text"], head["text"], details["text"]):
            assert not re.search("[<>\u202e]", shown)


def test_a_message_of_any_length_is_one_that_slack_takes() -> None:
    subjects = json.dumps([{"name": "&" * 4_000, "what": ""} for _ in range(7)])
    for message in ("", "&" * 10_000):
        row = finding(message, severity="error", family="health", subjects=subjects)
        _, details = json.loads(slack(Alert(row, "key", 0)))["blocks"]
        assert 1 <= len(details["text"]["text"]) <= 3_000


def test_only_one_module_makes_text_objects_of_slack() -> None:
    root = Path(__file__).parents[3]
    assert [
        path.name
        for path in python_files(root, *TOP_LEVEL)
        if re.search(r"mrkdwn\b(?!\": False)|plain_text\b", path.read_text(encoding="utf-8"))
    ] == ["chat_text.py"]


def test_a_finding_of_one_of_two_captures_is_not_resolved(table: FeedTable) -> None:
    with Receiver() as receiver:
        table.replace([finding("crc"), finding("crc", capture_id="c2")])
        assert run(table, receiver.url, "pagerduty") == 1
        table.replace([finding("crc", capture_id="c2")])
        assert run(table, receiver.url, "pagerduty") == 0
        table.replace([])
        assert run(table, receiver.url, "pagerduty") == 1
    assert [body["event_action"] for body in receiver.bodies] == ["trigger", "resolve"]


def test_warnings_are_sent_where_they_are_wanted_alone(table: FeedTable) -> None:
    with Receiver() as receiver:
        table.replace([health("2 of 9 partitions")])
        assert run(table, receiver.url, "slack", least="error") == 0
        assert run(table, receiver.url, "alertmanager", least="warning") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"form": "teams"}, "--webhook-format teams: expected one of json, slack, "),
        ({"form": "pagerduty"}, "--webhook-key: the format pagerduty needs it"),
        ({"form": "slack", "routing_key": "k"}, "--webhook-key: the format pagerduty"),
        ({"least": "info"}, "--webhook-severity info: expected error or warning"),
    ],
)
def test_contradictory_options_of_a_webhook_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        WebhookEndpoint("https://host/path", {}, **options)


@contextmanager
def dripping():
    """A server that answers a byte of a header every 50 ms, without end."""
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                    while not ended.wait(0.05):
                        connection.sendall(b"x")
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        ended.set()
        listening.close()
        thread.join()


def test_an_answer_that_never_ends_takes_bounded_time_and_the_next_run_sends_again(
    table: FeedTable,
) -> None:
    with dripping() as url:
        began = time.monotonic()
        with pytest.raises(UnreachablePeerError, match="no whole answer within 1 s"):
            run(table, url, "slack", limit_s=1.0)
        assert time.monotonic() - began < 10
    with Receiver() as receiver:
        assert run(table, receiver.url, "slack") == 1
