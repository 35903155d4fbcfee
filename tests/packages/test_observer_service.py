"""The systemd unit: its command line really records, and systemd itself finds no fault with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.observer_process import log_bytes
from tests.jobs.test_consume import metadata_values
from tests.kraftlake_process import REPOSITORY, kraftlake
from tests.packages.unit_file import environment_in, settings_in, words
from tests.replica.consumer.quorum import in_thread

FOLDER = REPOSITORY / "conf" / "systemd"
UNIT = FOLDER / "kraftlake-observer.service"
ENVIRONMENT = FOLDER / "observer.env"
INSTALLED = "/opt/kraftlake/bin/kraftlake"


@pytest.fixture(scope="module")
def quorum(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Bootstrap, and the folder of the log that it holds."""
    folder = tmp_path_factory.mktemp("metadata")
    with in_thread(folder, metadata_values(data), voters=1, topic_id=None) as bootstrap:
        yield bootstrap, folder / "1" / "log" / "__cluster_metadata-0"


def started_with(**environment: str) -> list[str]:
    (command,) = settings_in(UNIT)["Service.ExecStart"]
    first, *arguments = words(command, {**environment_in(ENVIRONMENT), **environment})
    assert first == INSTALLED
    return arguments


def test_the_command_of_the_unit_records_a_quorum(quorum: tuple[str, Path], tmp_path: Path) -> None:
    bootstrap, log = quorum
    arguments = started_with(
        STATE_DIRECTORY=str(tmp_path),
        KRAFTLAKE_BOOTSTRAP=bootstrap,
        KRAFTLAKE_OBSERVE_OPTIONS="--until-caught-up --node-id 70",
    )
    done = kraftlake(*arguments)
    assert done.returncode == 0, done.stderr
    assert log_bytes(tmp_path / "recording" / "__cluster_metadata-0") == log_bytes(log)
    assert json.loads(done.stderr.splitlines()[-1])["event"] == "stopped"


def test_the_environment_file_as_it_is_asks_a_quorum_on_this_machine(tmp_path: Path) -> None:
    arguments = started_with(STATE_DIRECTORY=str(tmp_path))
    assert arguments[2:4] == ["--bootstrap", "127.0.0.1:9093"]
    assert "" not in arguments


def test_systemd_does_not_restart_the_unit_after_a_usage_error(tmp_path: Path) -> None:
    arguments = started_with(STATE_DIRECTORY=str(tmp_path), KRAFTLAKE_BOOTSTRAP="nonsense")
    (final,) = settings_in(UNIT)["Service.RestartPreventExitStatus"]
    assert kraftlake(*arguments).returncode == int(final) == 2
    assert settings_in(UNIT)["Service.Restart"] == ["on-failure"]


def test_the_paths_in_the_unit_are_those_that_its_text_says_to_install_to() -> None:
    said = " ".join(line for line in UNIT.read_text().splitlines() if line.startswith("#"))
    (environment,) = settings_in(UNIT)["Service.EnvironmentFile"]
    assert f"{environment}" in said
    assert INSTALLED.removesuffix("/bin/kraftlake") in said
    assert "/opt/kraftlake/share/kraftlake/conf/systemd" in said


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_understands_every_line_and_rates_it_well_confined(tmp_path: Path) -> None:
    text = UNIT.read_text().replace(INSTALLED, sys.executable)
    unit = tmp_path / UNIT.name
    unit.write_text(text.replace("/etc/kraftlake/observer.env", str(ENVIRONMENT)))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")

    # by systemd's own scale, from 0 to 100 for a service that may do everything
    call = ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit]
    judged = subprocess.run(call, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout
