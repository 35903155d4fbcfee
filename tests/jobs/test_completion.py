"""Shells complete kraftlake's commands and options by the script that it prints for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `kraftlake` is that of this checkout."""
    command = tmp_path / "bin" / "kraftlake"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m jobs.cli "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}{os.pathsep}{os.environ['PATH']}"


def shell(program: str, code: str, path: str) -> str:
    done = subprocess.run(
        [program, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_bash_completes_commands_and_options(path: str) -> None:
    code = """
        eval "$(kraftlake completion bash)"
        COMP_WORDS=(kraftlake ch); COMP_CWORD=1; _kraftlake_completion kraftlake
        echo "${COMPREPLY[@]}"
        COMP_WORDS=(kraftlake check --fa); COMP_CWORD=2; _kraftlake_completion kraftlake
        echo "${COMPREPLY[@]}"
    """
    assert shell("bash", code, path).splitlines() == ["check", "--fail-on --family"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="this machine has no zsh")
def test_zsh_is_told_commands_with_their_help(path: str) -> None:
    code = """
        autoload -U compinit && compinit -D -u && eval "$(kraftlake completion zsh)"
        _arguments() { print -r -- "$@"; }
        words=(kraftlake ch); CURRENT=2; _kraftlake_completion
    """
    assert '"check":"Check directories' in shell("zsh", code, path)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="this machine has no fish")
def test_fish_shows_commands_with_their_help(path: str) -> None:
    code = "kraftlake completion fish | source; complete -C 'kraftlake ch'"
    assert shell("fish", code, path).startswith("check\tCheck directories")


def test_another_shell_is_refused_in_one_line(kraftlake: Kraftlake) -> None:
    ended = kraftlake("completion", "tcsh")
    assert (ended.code, ended.error) == (
        2,
        "completion tcsh: name one of these shells: bash, zsh, fish",
    )
