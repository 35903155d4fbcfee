"""Options that can't both be obeyed are a usage error: none of them is left out silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.registry import commands

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


def one_valued() -> list[tuple[tuple[str, ...], str]]:
    """(the words of a command, an option of it that takes one value), for all of the registry."""
    return [
        (words, max(each.opts, key=len))
        for words, command in commands()
        for each in command.params
        if each.param_type_name == "option" and not (each.multiple or each.is_flag)
    ]


def test_no_option_with_one_value_drops_another_one_silently(kraftlake: Kraftlake) -> None:
    options = one_valued()
    assert len(options) > 100
    for words, option in options:
        values = ("1", "2") if option == "--diff" else ("1",)
        ended = kraftlake(*words, option, *values, option, *values)
        told = f"{option} is given twice, and takes one value: give it once"
        assert (ended.code, ended.error) == (2, told), (words, option)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("plan", "--upgrade", "4.1", "--upgrade=4.4", "x"), "--upgrade"),
        (("plan", "--remove-voter", "1", "--add-voter", "4", "--add-voter", "5"), "--add-voter"),
        (("history", "--topic", "a", "x", "--topic", "b"), "--topic"),
        (("capture", "-o", "a", "--output", "b", "x"), "--output"),
    ],
)
def test_an_option_that_is_given_twice_is_named(
    kraftlake: Kraftlake, words: tuple[str, ...], option: str
) -> None:
    ended = kraftlake(*words)
    told = f"{option} is given twice, and takes one value: give it once"
    assert (ended.code, ended.error) == (2, told)


def test_a_flag_or_an_option_for_many_values_may_be_given_again(
    kraftlake: Kraftlake, data: Path
) -> None:
    again = ("--json", "--json", "--event", "election", "--event", "broker_*")
    assert kraftlake("timeline", *again, data / "kafka-4.1.1-dynamic/final").code == 0
