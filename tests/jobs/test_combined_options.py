"""Options that can't both be obeyed are a usage error: none of them is left out silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

LAKE = ("--lake", "nowhere")
PUBLISH = ("publish", *LAKE)
NODES = ("-b", "127.0.0.1:1")

EXCLUDING = [
    (("sql", *LAKE, "--json", "--csv", "select 1"), "--json and --csv"),
    (("sql", *LAKE, "--json", "--csv", "--tables"), "--json and --csv"),
    (("sql", *LAKE, "--json", "--csv", "--questions"), "--json and --csv"),
    (("sql", *LAKE, "--tables", "--at-offset", "0"), "--tables and --at-offset"),
    (("sql", *LAKE, "--questions", "--at-time", "7"), "--questions and --at-time"),
    (("sql", *LAKE, "--tables", "--engine", "spark"), "--tables and --engine"),
    (("report", *LAKE, "-o", "-", "--json"), "-o - and --json"),
    (("register", *LAKE, "--drop", "--client-file", "f"), "--drop and --client-file"),
    (("ingest", *LAKE, "--follow", "9", "--available-now", "x"), "--follow and --available-now"),
    ((*PUBLISH, "--schema", "--topic", "t"), "--schema and --topic"),
    ((*PUBLISH, "--schema", "--follow"), "--schema and --follow"),
    (("simulate", "--list", "split-brain"), "--list and SCENARIO"),
    (("simulate", "--list", "-o", "d"), "--list and -o"),
]
NEEDING = [
    ((*PUBLISH, "--to", "d", "-b", "h:1"), "--bootstrap goes with --topic"),
    ((*PUBLISH, "--to", "d", "-X", "a=b"), "-X goes with --topic"),
    ((*PUBLISH, "--to", "d", "--progress-topic", "p"), "--progress-topic goes with --topic"),
    ((*PUBLISH, "--to", "d", "--producer-config", "f"), "--producer-config goes with --topic"),
    ((*PUBLISH, "--to", "d", "--progress", "f"), "--progress goes with --webhook"),
    ((*PUBLISH, "--topic", "t", "-H", "a: b"), "--webhook-header goes with --webhook"),
    ((*PUBLISH, "--to", "d", "--interval", "9"), "--interval goes with --follow"),
    (("simulate", "--events", "9"), "--events goes with --seeds"),
    (("simulate", "--jobs", "2"), "--jobs goes with --seeds"),
    (("simulate", "--state", "f", "split-brain", "-o", "d"), "--state goes with --seeds"),
    (
        ("replica", "observe", *NODES, "-o", "d", "--timeout", "9"),
        "--timeout goes with --until-caught-up",
    ),
]


@pytest.mark.parametrize(("words", "both"), EXCLUDING, ids=[" ".join(x) for x, _ in EXCLUDING])
def test_two_options_that_exclude_each_other_are_named(
    kraftlake: Kraftlake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    both: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake(*words)
    assert (ended.code, ended.error) == (2, f"{both} exclude each other: take one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("capture", "x", "-o", "-"), "-o"),
        (("simulate", "split-brain", "-o", "-"), "-o"),
        (("replica", "observe", *NODES, "-o", "-"), "-o"),
        ((*PUBLISH, "--to", "-"), "--to"),
        (("register", *LAKE, "--client-file", "-"), "--client-file"),
    ],
    ids=lambda value: " ".join(value),
)
def test_an_output_that_can_not_be_stdout_makes_no_file_called_minus(
    kraftlake: Kraftlake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake(*words)
    assert (ended.code, ended.error) == (
        2,
        f"{option} -: this can't be written to standard output: name a file or folder; ./- is one "
        "of that name",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "said"), NEEDING, ids=[" ".join(x) for x, _ in NEEDING])
def test_an_option_without_the_one_that_it_belongs_to_is_named(
    kraftlake: Kraftlake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake(*words)
    assert (ended.code, ended.error) == (2, said)
    assert list(tmp_path.iterdir()) == []
