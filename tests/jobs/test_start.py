"""Ctrl-C while the command's modules are loaded: no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY, WITHIN_S

_INTERRUPTED = "import os, signal, time\nos.kill(os.getpid(), {signal})\ntime.sleep(60)\n"
STARTED = (["-m", "jobs.cli"], ["-c", "from jobs.cli.start import main; main()"])


def started(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """`--version`, where modules of this folder come before others."""
    places = os.pathsep.join((str(folder), str(REPOSITORY)))
    return subprocess.run(
        [sys.executable, *words, "--version"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


@pytest.mark.parametrize("words", STARTED, ids=lambda words: words[0])
@pytest.mark.parametrize("module", ["typer", "csv", "resource"])
def test_an_interrupt_while_a_module_is_loaded_leaves_no_traceback(
    tmp_path: Path, module: str, words: list[str]
) -> None:
    text = _INTERRUPTED.format(signal=int(signal.SIGINT))
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    done = started(tmp_path, words)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize("words", STARTED, ids=lambda words: words[0])
def test_the_command_starts_where_nothing_interrupts_it(tmp_path: Path, words: list[str]) -> None:
    done = started(tmp_path, words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kraftlake ")
