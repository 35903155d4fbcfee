"""`kraftlake replica run` as a process: what it tells, how it ends, what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import command_line
from tests.replica.node.running import free_port

REPOSITORY = Path(__file__).parents[2]
CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path, port = tmp_path / "server.properties", free_port()
    path.write_text(
        f"node.id=7\nlog.dirs={tmp_path}/node7\nlisteners=CONTROLLER://127.0.0.1:{port}\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\nnum.partitions=3\n"
        "kraftlake.metrics.listener=127.0.0.1:0\n"
    )
    return path


def test_a_replica_reports_its_states_as_json_and_stops_in_order(
    config: Path, kraftlake: Kraftlake
) -> None:
    kraftlake("replica", "format", "-c", config, "-t", CLUSTER, "--standalone")
    command = command_line("replica", "run", "-c", config)
    command += ["--log-format", "json"]
    told = []
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            told.append(json.loads(line))
            if told[-1].get("role") == "leader":
                process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    events = [row["event"] for row in told]
    assert events[:5] == [
        "unknown-keys", "started", "listening", "open-listener", "metrics",
    ]  # fmt: skip
    assert events[-1] == "stopped"
    assert all({"time", "event", "message"} <= row.keys() for row in told)
    by_event = {row["event"]: row for row in told}
    assert by_event["unknown-keys"]["keys"] == "num.partitions"
    assert by_event["started"]["cluster_id"] == CLUSTER
    assert by_event["stopped"]["how"] == "gracefully"
    assert kraftlake("check", Path(by_event["started"]["directory"])).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--log-format", "xml"), "--log-format xml: expected one of text, json"),
        (("--workload", "many"), "--workload many: expected RATE,BYTES, such as 20000,256"),
        (("--workload", "10,10"), "--workload: its records mean nothing to a metadata log"),
        ((), "is not formatted: `kraftlake replica format -c"),
    ],
)
def test_an_impossible_option_is_a_usage_error(
    config: Path, kraftlake: Kraftlake, arguments: tuple[str, ...], said: str
) -> None:
    ended = kraftlake("replica", "run", "-c", config, *arguments)
    assert ended.code == 2
    assert said in ended.err
