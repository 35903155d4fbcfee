"""The prompt of `kraftlake sql`, typed into on a terminal."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.cli.asking.sql_prompt import completer, pager_command
from tests.jobs.terminal import DEADLINE_S, Terminal
from tests.kraftlake_process import command_line


@pytest.fixture
def terminal(built_lake: Path, tmp_path: Path) -> Iterator[Terminal]:
    shown = Terminal(
        [str(word) for word in command_line("sql", "--lake", built_lake)],
        PAGER="cat",
        XDG_STATE_HOME=str(tmp_path),
    )
    shown.until("lake=> ")
    yield shown
    shown.close()


def test_queries_are_answered_one_after_another_until_the_input_ends(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.type("SELECT count(*) AS n\nFROM gold.findings;\n")
    answer = terminal.until("lake=> ")
    assert re.search(r"^n *$", answer, re.MULTILINE)
    terminal.type("SELECT nope FROM gold.findings;\n")
    assert "No field named nope" in terminal.until("lake=> ")
    terminal.type("\x04")
    assert terminal.process.wait(DEADLINE_S) == 0
    history = tmp_path / "kraftlake" / "sql_history"
    assert "FROM gold.findings;" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


def test_x_shows_a_line_for_each_column(terminal: Terminal) -> None:
    terminal.type("\\x\n")
    terminal.until("lake=> ")
    terminal.type("SELECT 1 AS one, 2 AS two;\n")
    answer = terminal.until("lake=> ")
    assert "-- row 1 --\none  1\ntwo  2\n" in answer


def test_questions_and_help_are_commands_of_the_prompt(terminal: Terminal) -> None:
    terminal.type("\\?\n")
    assert "Ctrl-D ends the prompt" in terminal.until("lake=> ")
    terminal.type("\\q leaders\n")
    assert "leader" in terminal.until("lake=> ")
    terminal.type("\\q nonsense\n")
    assert "there is no such question" in terminal.until("lake=> ")


def test_a_word_is_completed_whatever_its_case() -> None:
    complete = completer(["gold.findings", "gold.votes", "SELECT"])
    assert [complete("GOLD.", 0), complete("gold.", 1)] == ["gold.findings", "gold.votes"]
    assert complete("gold.", 2) is None
    assert complete("sel", 0) == "SELECT"


def test_the_pager_is_the_users_own_or_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "more -d")
    assert pager_command() == ["more", "-d"]
    monkeypatch.setenv("PAGER", "cat")
    assert pager_command() == []
    monkeypatch.delenv("PAGER")
    monkeypatch.setenv("PATH", "/nowhere")
    assert pager_command() == []


def test_without_a_terminal_a_query_is_asked_for(built_lake: Path) -> None:
    command = [str(word) for word in command_line("sql", "--lake", built_lake)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "give one query" in ended.stderr


def test_a_wrong_moment_is_refused_before_the_prompt_opens(tmp_path: Path) -> None:
    words = command_line("sql", "--lake", tmp_path / "lake", "--at-time", "nonsense")
    shown = Terminal([str(word) for word in words])
    assert "--at-time" in shown.until("\n")
    assert shown.process.wait(DEADLINE_S) == 2
    shown.close()
