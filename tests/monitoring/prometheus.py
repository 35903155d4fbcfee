"""Prometheus and promtool, as Debian packages them, with the configuration in conf/."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import REPOSITORY

RULES = REPOSITORY / "conf" / "prometheus" / "kraftlake.rules.yml"
CONFIGURATION = REPOSITORY / "conf" / "prometheus" / "prometheus.yml"
DASHBOARD = REPOSITORY / "conf" / "grafana" / "kraftlake-quorum.json"
needs_prometheus = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="this machine has no Prometheus (Debian's package of that name has it, and promtool)",
)


def rules() -> dict[str, dict]:
    """Each alert by its name."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def queries() -> list[tuple[str, str]]:
    """(title of the panel, query) for all queries of the dashboard, with its variables replaced."""
    found = []
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$job", "kraftlake").replace("$instance", ".*")
            found.append((panel["title"], query.replace("$__rate_interval", "30s")))
    return found


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def hurried(text: str) -> str:
    """The rules with shorter ages and durations, and with a shorter span of the log's growth, so
    that a test sees the alerts fire. The observer asks the leader every 5 s, so no age is less than
    that."""
    text = re.sub(r"for: (\d+)([sm])", _shortened, text)
    return text.replace("> 30\n", "> 8\n").replace("< 30)", "< 8)").replace("[10m]", "[10s]")


def _shortened(found: re.Match[str]) -> str:
    seconds = int(found[1]) * (60 if found[2] == "m" else 1)
    return f"for: {max(1, seconds // 25)}s"


OF_THE_LAST_QUARTER = {"KraftlakeElectionsFrequent", "KraftlakeElectionSlow"}


class Prometheus:
    """A Prometheus that scrapes a target every second, and judges hurried rules."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def ask(self, path: str, **query: str):
        """The data of an answer of its API."""
        url = f"{self._url}/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - our own
            return json.load(answer)["data"]

    def values(self, query: str) -> list[dict]:
        return self.ask("query", query=query)["result"]

    def firing(self) -> set[str]:
        """The names of the alerts that fire now."""
        alerts = self.ask("alerts")["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def wait_for(self, *alerts: str, within_s: float = 90) -> set[str]:
        """Waits until these alerts fire. Gives all alerts that fire then."""
        return self._until(lambda: set(alerts) <= self.firing(), f"{alerts} to fire", within_s)

    def wait_for_silence(self, within_s: float = 90) -> None:
        """Waits until no alert fires, except alerts about the last quarter of an hour."""
        self._until(lambda: self.firing() <= OF_THE_LAST_QUARTER, "silence", within_s)

    def _until(self, holds, what: str, within_s: float) -> set[str]:
        deadline = time.monotonic() + within_s
        while True:
            with suppress(OSError):
                if holds():
                    return self.firing()
            if time.monotonic() > deadline:
                pytest.fail(f"waited for {what}: {self.ask('alerts')}")
            time.sleep(0.2)


@contextmanager
def prometheus(folder: Path, target: int):
    """A Prometheus that scrapes 127.0.0.1:`target`, by the configuration of conf/prometheus."""
    (port,) = free_ports(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RULES.name).write_text(hurried(RULES.read_text()))
    text = (
        CONFIGURATION.read_text()
        .replace("15s", "1s")
        .replace("127.0.0.1:9404", f"127.0.0.1:{target}")
    )
    (folder / CONFIGURATION.name).write_text(text)
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / CONFIGURATION.name}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        found = Prometheus(port)
        found._until(lambda: found.values('up{job="kraftlake"} == 1'), "a scrape", 60)
        yield found
    finally:
        process.terminate()
        process.wait(30)
