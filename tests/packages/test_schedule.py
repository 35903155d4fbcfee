"""The timer's service: its steps, run as they stand, bring captures of three controllers into a
lake, tell of a finding once, and take old captures away; so does the cron line of the page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.lake.schema_version import FILE_NAME
from tests.kraftlake_process import REPOSITORY
from tests.packages.unit_file import environment_in, settings_in

FOLDER = REPOSITORY / "conf" / "systemd"
UNIT, TIMER = FOLDER / "kraftlake-lake.service", FOLDER / "kraftlake-lake.timer"
ENVIRONMENT = FOLDER / "schedule.env"
PAGE = REPOSITORY / "docs" / "how-to" / "scheduling.md"
INSTALLED = "/opt/kraftlake/bin/kraftlake"


@pytest.fixture
def settings(tmp_path: Path, data: Path) -> dict[str, str]:
    """The environment file's, with three controllers below the test's folder."""
    controllers = [tmp_path / "nodes" / str(number) for number in (1, 2, 3)]
    for controller in controllers:
        shutil.copytree(data / "kafka-4.1.1-dynamic" / "live" / controller.name, controller)
    found = {
        name: value.replace("/var/lib/kraftlake-lake", str(tmp_path / "state"))
        for name, value in environment_in(ENVIRONMENT).items()
    }
    (tmp_path / "state").mkdir()
    command = Path(sys.executable).with_name("kraftlake")
    return found | {
        "KRAFTLAKE": str(command),
        "KRAFTLAKE_DIRECTORIES": " ".join(map(str, controllers)),
        "STATE_DIRECTORY": str(tmp_path / "state"),
    }


def script(command: str) -> tuple[str, bool]:
    """What the shell of an ExecStart runs, and whether its failure ends the service."""
    found = re.fullmatch(r"(-?)/bin/sh -c '(.*)'", command)
    assert found is not None, command
    return found[2].replace("%%", "%"), not found[1]


def run_service(settings: dict[str, str]) -> list[subprocess.CompletedProcess[str]]:
    """The steps of the service in their order, up to one that fails and may not."""
    done = []
    for command in settings_in(UNIT)["Service.ExecStart"]:
        text, is_needed = script(command)
        ran = subprocess.run(
            ["/bin/sh", "-c", text],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        done.append(ran)
        if ran.returncode and is_needed:
            break
    return done


def make_captures_old(settings: dict[str, str]) -> None:
    """So that they are older than any age that is meant."""
    for manifest in Path(settings["KRAFTLAKE_CAPTURES"]).glob("*/capture.json"):
        text = re.sub(r'"captured_at": "20\d\d', '"captured_at": "2020', manifest.read_text())
        manifest.write_text(text)


def published(settings: dict[str, str]) -> list[str]:
    folder = Path(settings["STATE_DIRECTORY"]) / "findings"
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.open()]
    return [json.loads(line)["after"]["rule"] for line in lines if json.loads(line)["after"]]


@pytest.mark.slow
def test_two_runs_fill_a_lake_and_tell_each_finding_once(
    settings: dict[str, str], data: Path, tmp_path: Path
) -> None:
    first = run_service(settings)
    assert [ran.returncode for ran in first] == [0, 0, 0, 0], [ran.stderr for ran in first]
    before = published(settings)
    # the next time the cluster is split: nodes 2 and 3 hold other records than before
    for number in ("2", "3"):
        node = tmp_path / "nodes" / number
        shutil.rmtree(node)
        shutil.copytree(data / "kafka-4.1.1-dynamic" / "split" / number, node)
    make_captures_old(settings)
    second = run_service(settings)
    assert [ran.returncode for ran in second] == [0, 0, 0, 0], [ran.stderr for ran in second]
    after = published(settings)
    assert "log-divergence" not in before
    assert "log-divergence" in after
    assert len(list(Path(settings["KRAFTLAKE_CAPTURES"]).iterdir())) == 1, "the old one is gone"
    assert "1 capture removed" in second[3].stdout


@pytest.mark.slow
def test_nothing_is_pruned_where_the_ingest_fails(settings: dict[str, str]) -> None:
    run_service(settings)
    make_captures_old(settings)
    (Path(settings["STATE_DIRECTORY"]) / "lake" / FILE_NAME).write_text(
        "999\n"
    )  # of a release to come
    done = run_service(settings)
    assert len(done) == 2
    assert done[1].returncode != 0
    assert len(list(Path(settings["KRAFTLAKE_CAPTURES"]).iterdir())) == 2


def test_the_cron_line_of_the_page_is_the_same_steps() -> None:
    (line,) = re.findall(r"^\*/5 \* \* \* \* .*$", PAGE.read_text(), re.MULTILINE)
    for step in ("capture", "ingest --lake", "--build", "publish", "prune"):
        assert step in line
    places = [line.index(step) for step in ("capture", "ingest", "publish", "prune")]
    assert places == sorted(places)
    assert "%" not in re.sub(r"\\%", "", line), "cron takes a % for the end of the line"


def test_the_paths_in_the_unit_are_those_that_its_text_says_to_install_to() -> None:
    said = " ".join(line for line in UNIT.read_text().splitlines() if line.startswith("#"))
    (environment,) = settings_in(UNIT)["Service.EnvironmentFile"]
    assert environment in said
    assert f"KRAFTLAKE={INSTALLED}" in settings_in(UNIT)["Service.Environment"]
    assert TIMER.name in said


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_understands_every_line_of_service_and_timer(tmp_path: Path) -> None:
    text = UNIT.read_text().replace("/etc/kraftlake/schedule.env", str(ENVIRONMENT))
    (tmp_path / UNIT.name).write_text(text.replace("User=kafka", "User=root"))
    shutil.copy(TIMER, tmp_path / TIMER.name)
    units = [tmp_path / UNIT.name, tmp_path / TIMER.name]
    verified = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    call = ["systemd-analyze", "calendar", settings_in(TIMER)["Timer.OnCalendar"][0]]
    assert subprocess.run(call, capture_output=True).returncode == 0
