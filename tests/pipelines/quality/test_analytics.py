"""Great Expectations tells nobody that it is used, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY

_ASKED = """
import os, sys
asked = []
sys.addaudithook(lambda event, about: asked.append(event) if event.startswith("socket.") else None)
import pipelines.quality.checkpoint
import great_expectations
great_expectations.get_context(mode="ephemeral")
hosts = [event for event in asked if event in ("socket.connect", "socket.getaddrinfo")]
print(os.environ["GX_ANALYTICS_ENABLED"], "posthog" in sys.modules, hosts)
"""


@pytest.mark.slow
def test_the_analytics_of_great_expectations_are_off(tmp_path: Path) -> None:
    script = tmp_path / "asked.py"  # pyspark ends a process that has no main file
    script.write_text(_ASKED, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=REPOSITORY,
        env={**os.environ, "GX_ANALYTICS_ENABLED": "true", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ended.stdout.split(maxsplit=2) == ["false", "False", "[]\n"]
