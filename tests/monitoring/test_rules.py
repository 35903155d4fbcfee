"""Alerts and dashboard of a watched quorum: promtool accepts the rules, each fires on series of its
incident and on no others, and all that they ask for is what an observer tells."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
import yaml

from replica.doctor.watching import judged, watch
from tests.docs.pages import anchors
from tests.kraftlake_process import REPOSITORY
from tests.monitoring.prometheus import (
    CONFIGURATION,
    DASHBOARD,
    RULES,
    needs_prometheus,
    promtool,
    queries,
    rules,
)
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.doctor.watching.quorum import broker, page, scraped_until, watched

_JOB = 'job="kraftlake", instance="i"'
_METRIC = re.compile(r"\b(?:kraftlake|process)_\w+")
_OWN = ("kraftlake_health_subjects", "kraftlake_wedged")


def _of(name: str, **labels: str) -> str:
    told = "".join(f'{key}="{value}", ' for key, value in labels.items())
    return f"{name}{{{told}{_JOB}}}"


def _voter(name: str, number: int) -> str:
    return _of(f"kraftlake_quorum_replica_{name}", replica=str(number), kind="voter")


def _rule(rule_id: str, severity: str) -> str:
    return _of("kraftlake_health_subjects", rule=rule_id, severity=severity)


def _wedged(reason: str) -> str:
    return _of("kraftlake_wedged", reason=reason)


_EPOCHS = _of("kraftlake_leader_epochs_total")
_CHANGES = _of("kraftlake_leader_change_duration_seconds_count")
_CHANGING = _of("kraftlake_leader_change_duration_seconds_sum")
_BYTES = _of("kraftlake_log_record_bytes_total", type="NO_OP_RECORD")

# A value each minute; the hour after the first one is the incident's.
HEALTHY = {
    _of("up"): "1x120",
    _of("kraftlake_ready"): "1x120",
    _of("kraftlake_watching"): "1x120",
    _wedged("no-leader"): "0x120",
    _wedged("not-fetching"): "0x120",
    _wedged("high-watermark-stalled"): "0x120",
    _of("kraftlake_quorum_described"): "1x120",
    _of("kraftlake_quorum_voters"): "3x120",
    **{_voter("last_fetch_age_seconds", number): "0.4x120" for number in (1, 2, 3)},
    **{_voter("caught_up_age_seconds", number): "0.4x120" for number in (1, 2, 3)},
    **{_voter("lag", number): "2x120" for number in (1, 2, 3)},
    _EPOCHS: "4x60 5x60",
    _CHANGING: "7x60 9x60",
    _CHANGES: "3x60 4x60",
    _of("kraftlake_quorum_snapshot_age_seconds"): "3600x120",
    _BYTES: "0+120x120",
    _rule("partition-without-leader", "error"): "0x120",
    _rule("partition-below-min-isr", "warning"): "0x120",
    _rule("leader-not-preferred", "info"): "9x120",
    _of("kraftlake_health_age_seconds"): "3x120",
}
INCIDENTS = {
    "KraftlakeDown": {_of("up"): "1x60 0x60"},
    "KraftlakeNoLeader": {_wedged("no-leader"): "0x60 1x60"},
    "KraftlakeNothingCommitted": {_wedged("high-watermark-stalled"): "0x60 1x60"},
    "KraftlakeNotFetching": {_wedged("not-fetching"): "0x60 1x60"},
    "KraftlakeVoterSilent": {_voter("last_fetch_age_seconds", 2): "0.4x60 31+60x60"},
    "KraftlakeNoVoterMayFail": {_voter("caught_up_age_seconds", 2): "0.4x60 31+60x60"},
    "KraftlakeReplicaLags": {_voter("lag", 2): "2x60 1001x60"},
    "KraftlakeElectionsFrequent": {_EPOCHS: "4x60 5+1x60"},
    "KraftlakeElectionSlow": {_CHANGING: "7x60 40x60"},
    "KraftlakeSnapshotOld": {_of("kraftlake_quorum_snapshot_age_seconds"): "3600x60 10801+60x60"},
    "KraftlakeLogGrows": {_BYTES: "0+120x60 60000000+60000000x60"},
    "KraftlakeClusterBroken": {_rule("partition-without-leader", "error"): "0x60 3x60"},
    "KraftlakeClusterUnwell": {_rule("partition-below-min-isr", "warning"): "0x60 3x60"},
    "KraftlakeNotJudged": {_of("kraftlake_health_age_seconds"): "3x60 301+60x60"},
    "KraftlakeNotDescribed": {_of("kraftlake_quorum_described"): "1x60 0x60"},
}


def _unit_test(alert: str | None) -> dict:
    """Nothing fires before the incident, and its alert alone in it."""
    series = {**HEALTHY, **({} if alert is None else INCIDENTS[alert])}
    fired = f'{{alertname="{alert}"}}'
    asked = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "name": str(alert),
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": asked, "eval_time": "59m", "exp_samples": []},
            {
                "expr": asked,
                "eval_time": "80m" if alert == "KraftlakeClusterUnwell" else "74m",
                "exp_samples": [] if alert is None else [{"labels": fired, "value": 1}],
            },
        ],
    }


@needs_prometheus
def test_promtool_accepts_the_rules_and_the_example_configuration():
    ran = promtool("check", "config", CONFIGURATION)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{len(rules())} rules found" in ran.stdout


@needs_prometheus
def test_each_alert_fires_on_its_incident_and_no_other_does(tmp_path):
    assert set(INCIDENTS) == set(rules())
    tests = [_unit_test(alert) for alert in (None, *INCIDENTS)]
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": tests}))
    ran = promtool("test", "rules", path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_each_alert_names_a_runbook():
    for name, rule in rules().items():
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page.startswith("docs/how-to/runbooks/"), name
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        assert not anchor or anchor in anchors(text), name
        assert rule["labels"]["severity"] in ("warning", "critical"), name


def test_alerts_and_dashboard_ask_for_what_an_observer_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "DESCRIBE_EVERY_S", 0.1)
    monkeypatch.setattr(judged, "EVERY_S", 0.05)

    async def story():
        async with quorum_running(tmp_path, voters=1, topic_id=None) as quorum:
            await quorum.append(broker(1))
            async with watched(tmp_path, *quorum.bootstrap) as (_, __, port):
                await scraped_until(port, lambda found: "kraftlake_health_offset" in found)
                await quorum.append(broker(2))
                await scraped_until(
                    port, lambda found: any(name[0].endswith("log_records_total") for name in found)
                )
                return (await asyncio.to_thread(page, port))[1]

    text = asyncio.run(asyncio.wait_for(story(), 60))
    told = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    told.add("kraftlake_quorum_snapshot_age_seconds")  # a snapshot takes its time
    wanted = [rule["expr"] for rule in rules().values()] + [query for _, query in queries()]
    asked = {name for query in wanted for name in _METRIC.findall(query)}
    assert asked - told == set()
    assert len(asked) > 20


def test_the_dashboard_has_a_data_source_to_choose_and_panels_that_do_not_overlap():
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    cells = [
        (x, y)
        for panel in dashboard["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


@pytest.mark.parametrize("name", _OWN)
def test_alerts_name_reasons_and_severities_that_there_are(name):
    from replica.node.readiness import Wedge
    from replica.severity import Severity

    known = {*(wedge.value for wedge in Wedge), *(severity.value for severity in Severity)}
    for rule in rules().values():
        for found in re.findall(name + r'\{\w+="([^"]+)"', rule["expr"]):
            assert found in known
