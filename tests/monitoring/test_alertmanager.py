"""A real Alertmanager takes what `publish --webhook-format alertmanager` sends, ends the alert."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.feeds.publishing import publish
from pipelines.feeds.webhook import WebhookEndpoint, webhook
from tests.interop.kafka_node import free_ports
from tests.pipelines.feeds.feed_table import FINDINGS, FeedTable, finding

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus-alertmanager") is None,
    reason="this machine has no Alertmanager (Debian's package prometheus-alertmanager has it)",
)


@contextmanager
def alertmanager(folder: Path):
    """Its URL."""
    port, gossip = free_ports(2)
    (folder / "alertmanager.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
    with (folder / "alertmanager.log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus-alertmanager",
                f"--config.file={folder / 'alertmanager.yml'}",
                f"--storage.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                f"--cluster.listen-address=127.0.0.1:{gossip}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://127.0.0.1:{port}/api/v2/alerts"
    finally:
        process.terminate()
        process.wait(30)


def active(url: str) -> list[str]:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own
        return [each["labels"]["alertname"] for each in json.load(answer)]


def test_an_alert_is_active_until_its_finding_is_resolved(tmp_path: Path) -> None:
    table = FeedTable(tmp_path / "lake", FINDINGS)
    table.replace([finding("crc")])

    def run(url: str) -> None:
        to = WebhookEndpoint(url, form="alertmanager", backoff_s=0.2)
        with webhook(to, table.opened(), str(tmp_path / "sent.json")) as target:
            publish(table.opened(), target, lambda *_: None)

    with alertmanager(tmp_path) as url:
        run(url)
        assert active(url) == ["batch-crc"]
        table.replace([])
        run(url)
        deadline = time.monotonic() + 20
        while active(url) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert active(url) == []
