"""A forked command does what a command in a new process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forked import Forked, completed
from tests.kraftlake_process import REPOSITORY, command_line, wanted

NODE = "tests/data/kafka-3.7.2-static/final/1"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux")


def forked(*arguments: object, text: str = "", **variables: str) -> tuple[int, str, str]:
    ended = completed(wanted(arguments, variables), text, 60)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("dump", "--type", "leader_change", NODE), 0),
        (("check", "--json", NODE), 0),
        (("replica", "describe", "--help"), 0),
        (("dmup",), 2),
        (("check", "/nowhere/ö"), 2),
    ],
)
def test_it_says_the_same_and_ends_with_the_same_code(words: tuple[str, ...], code: int) -> None:
    anew = subprocess.run(command_line(*words), cwd=REPOSITORY, capture_output=True, text=True)
    assert forked(*words) == (anew.returncode, anew.stdout, anew.stderr)
    assert anew.returncode == code


def test_it_reads_its_own_standard_input() -> None:
    asked = ("replica", "scram", "--user", "ann", "--iterations", "4096")
    code, out, err = forked(*asked, text="päss word\n")
    assert (code, err) == (0, "")
    assert "päss word" not in out
    assert "4096" in out


def test_it_has_the_environment_and_the_umask_of_the_test_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, error = forked("sql", "SELECT 1", KRAFTLAKE_LAKE="/nowhere")
    assert "/nowhere: no such folder" in error
    monkeypatch.setenv("KRAFTLAKE_LAKE", "/elsewhere")
    assert "/elsewhere: no such folder" in forked("sql", "SELECT 1")[2]
    before = os.umask(0o027)
    try:
        assert forked("simulate", "split-brain", "-o", tmp_path / "out")[0] == 0
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("end", "code"), [(Forked.kill, -signal.SIGKILL), (Forked.terminate, -signal.SIGTERM)]
)
def test_it_can_be_waited_for_and_ended_by_a_signal(
    end: Callable[[Forked], None], code: int
) -> None:
    stdin, held_open = os.pipe()
    with Path(os.devnull).open("wb") as nowhere:
        words = ("replica", "scram", "--user", "ann")
        process = Forked(wanted(words), stdin, nowhere.fileno(), nowhere.fileno())
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    end(process)
    assert process.wait(30) == code
    assert process.poll() == code
    end(process)
    os.close(held_open)
    os.close(stdin)
