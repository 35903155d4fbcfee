"""`kraftlake replica scram`: a line for the file of credentials, from a password that no argument
names."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from replica.node.security.scram_file import read_credentials
from replica.wire.sasl import scram
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line


@pytest.mark.parametrize(("mechanism", "hash_name"), scram.HASHES.items())
def test_a_line_made_of_a_password_on_stdin_lets_its_user_log_in(
    process: Kraftlake, tmp_path: Path, mechanism: str, hash_name: str
) -> None:
    asked = ("replica", "scram", "--user", "a, b", "--mechanism", mechanism)
    made = process(*asked, "--iterations", "4096", stdin="p\u00e4ss word\nignored")
    assert (made.code, made.err) == (0, "")
    path = tmp_path / "scram"
    path.write_text(made.out, encoding="utf-8")
    kept = read_credentials(str(path))[mechanism]["a, b"]
    assert kept == scram.credential(hash_name, "p\u00e4ss word", kept.salt, 4096)
    assert "word" not in made.out


def answer(process: subprocess.Popen[str], prompt: str, terminal: int, text: str) -> str:
    """What it has said up to the prompt; what is typed before that is thrown away."""
    said = ""
    while not said.endswith(prompt):
        assert process.stderr is not None
        said += process.stderr.read(1) or pytest.fail(f"never asked: {said}")
    os.write(terminal, f"{text}\n".encode())
    return said


@pytest.mark.parametrize(("again", "code"), [("secret", 0), ("other", 2)])
def test_a_terminal_is_asked_twice_and_shows_nothing(again: str, code: int) -> None:
    ours, theirs = pty.openpty()
    asking = subprocess.Popen(
        command_line("replica", "scram", "--user", "ann"),
        **{"stdin": theirs, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
        cwd=REPOSITORY,
        start_new_session=True,  # else it would ask the terminal of the tests
        text=True,
    )
    os.close(theirs)
    said = answer(asking, "Password: ", ours, "secret") + answer(asking, "Again: ", ours, again)
    out, rest = asking.communicate(timeout=60)
    said += rest
    os.close(ours)
    assert asking.returncode == code
    assert out.startswith('{"name":"ann","mechanism":"SCRAM-SHA-512"') == (code == 0)
    assert ("the two passwords differ" in said) == (code == 2)
    assert "secret" not in out + said


@pytest.mark.parametrize(
    ("options", "stdin", "said"),
    [
        (("--mechanism", "PLAIN"), "x\n", "expected SCRAM-SHA-256 or SCRAM-SHA-512"),
        (("--iterations", "5"), "x\n", "expected a number between 4096 and 16384"),
        ((), "", "a user needs a name and a password"),
    ],
)
def test_credentials_that_no_replica_accepts_are_a_usage_error(
    process: Kraftlake, options: tuple[str, ...], stdin: str, said: str
) -> None:
    ended = process("replica", "scram", "--user", "ann", *options, stdin=stdin)
    assert ended.code == 2
    assert said in ended.err
    assert len(ended.complaints) == 1
