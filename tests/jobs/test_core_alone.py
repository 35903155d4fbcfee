"""Commands on directories load nothing of the extras, whether these are installed or not."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tests.kraftlake_process import REPOSITORY

# What modules a distribution has, where they aren't called as it is.
_MODULES = {
    "confluent-kafka": "confluent_kafka",
    "delta-spark": "delta",
    "great-expectations": "great_expectations",
    "openlineage-python": "openlineage",
}
_NODES = [f"tests/data/kafka-3.7.2-static/split/{node}" for node in (2, 3)]
_CALLS = (
    (0, ("--help",)),
    (0, ("dump", "tests/data/generated-all-types")),
    (1, ("diff", *_NODES)),
    (1, ("check", _NODES[1])),
    (0, ("explain", "log-divergence")),
    (0, ("recover", "--plan", *_NODES)),
    (0, ("restore", "--release", "4.0", "--dry-run", _NODES[1])),
    (0, ("capture", _NODES[0], "-o", "{out}/captured")),
    (0, ("redact", _NODES[0], "-o", "{out}/redacted")),
    (1, ("plan", "--stop-broker", "11", _NODES[1])),
    (0, ("state", "--sizes", _NODES[1])),
    (0, ("state", _NODES[1])),
    (0, ("history", "--broker", "11", _NODES[1])),
    (0, ("timeline", _NODES[1])),
    (0, ("simulate", "--seeds", "0:1", "--events", "5")),
    (0, ("replica", "format", "--help")),
    (0, ("replica", "run", "--help")),
    (0, ("consume", "--help")),
)
_PROGRAM = """
import sys
from jobs.cli.main import app
from jobs.cli.outcome import run
for expected, call in {calls!r}:
    code = run(app, list(call))
    assert code == expected, (code, call)
    assert not sys.modules.keys() & {extras!r}, call
"""


def modules_of_the_extras() -> set[str]:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    names = {Requirement(one).name for extra in extras.keys() - {"dev"} for one in extras[extra]}
    return {_MODULES.get(name, name) for name in names}


def test_commands_on_directories_load_nothing_of_an_extra(tmp_path: Path) -> None:
    calls = [(code, tuple(word.format(out=tmp_path) for word in call)) for code, call in _CALLS]
    program = _PROGRAM.format(extras=modules_of_the_extras(), calls=calls)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr[-3000:]
