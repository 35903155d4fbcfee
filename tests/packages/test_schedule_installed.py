"""From nothing to a lake every five minutes: the wheel in an environment of its own, a new home,
and the cron line of the page as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY
from tests.packages.installing import install_core

pytestmark = pytest.mark.slow
PAGE = REPOSITORY / "docs" / "how-to" / "scheduling.md"
WITHIN_S = 600
"""Ten minutes, the download of what the lake needs aside."""


def cron_line() -> str:
    """What cron hands to the shell: in a crontab a percent sign is written with a backslash."""
    (line,) = re.findall(r"^\*/5 \* \* \* \* (.*)$", PAGE.read_text(), re.MULTILINE)
    return line.replace("\\%", "%")


def test_the_cron_line_of_the_page_fills_a_lake_from_nothing(
    wheel: Path, data: Path, tmp_path: Path
) -> None:
    began = time.monotonic()
    installed = install_core(wheel, tmp_path / "venv", extra="lake")
    home = tmp_path / "home"
    (home / "kraftlake").mkdir(parents=True)
    nodes = tmp_path / "nodes"
    for number in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic" / "split" / number, nodes / number)
    line = cron_line()
    assert "/var/lib/kafka/metadata" in line
    ran = subprocess.run(
        ["/bin/sh", "-c", line.replace("/var/lib/kafka/metadata", str(nodes))],
        env={
            "HOME": str(home),
            "PATH": f"{installed.command.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "LANG": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    took = time.monotonic() - began
    log = (home / "kraftlake" / "log").read_text()
    assert ran.returncode == 0, ran.stderr + log
    assert len(list((home / "kraftlake" / "captures").iterdir())) == 1
    findings = "".join(path.read_text() for path in (home / "kraftlake" / "findings").iterdir())
    assert "log-divergence" in findings
    assert "0 captures removed" in log
    assert took < WITHIN_S
