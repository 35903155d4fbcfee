"""KRAFTLAKE_LAKE names the lake of every command that isn't told one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

VARIABLE = "KRAFTLAKE_LAKE"
ASKING = [
    ("sql", "--tables"),
    ("report", "-o", "-"),
    ("lake",),
    ("quality",),
    ("state",),
    ("state", "--sizes"),
    ("history",),
    ("plan", "--stop-broker", "1"),
    ("restore", "--release", "4.1", "--dry-run"),
    ("publish", "--to", "changes"),
]
_WORDS = [" ".join(words) for words in ASKING]


@pytest.mark.parametrize("words", ASKING, ids=_WORDS)
def test_a_command_that_is_told_no_lake_asks_the_one_of_the_environment(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "nowhere")
    ended = kraftlake(*words)
    assert ended.code == 2
    assert "nowhere" in ended.error


@pytest.mark.parametrize("words", ASKING, ids=_WORDS)
def test_an_error_for_a_missing_lake_names_option_and_variable(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    ended = kraftlake(*words)
    assert ended.code == 2
    assert "--lake" in ended.error
    assert VARIABLE in ended.error


@pytest.mark.parametrize("command", sorted({words[0] for words in ASKING} | {"ingest", "build"}))
def test_help_names_the_variable(kraftlake: Kraftlake, command: str) -> None:
    assert VARIABLE in kraftlake(command, "--help").out


def test_the_option_wins_over_the_variable(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "elsewhere")
    assert "elsewhere" not in kraftlake("lake", "--lake", "nowhere").error


@pytest.mark.usefixtures("recorded")
def test_directories_win_over_the_variable(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "nowhere")
    ended = kraftlake("history", "--topic", "k0-80-0", "--json", "kafka-3.7.2-static/live/1")
    assert ended.code == 0
    assert ended.rows


@pytest.mark.parametrize("words", [("lake",), ("history",)])
def test_a_variable_that_names_no_lake_is_refused_by_its_name(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv(VARIABLE, "s3:/bucket/lake")
    ended = kraftlake(*words)
    assert ended.code == 2
    assert "s3:/bucket/lake" in ended.error
