"""`kraftlake simulate`: a line per seed, and the command that repeats what broke."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from jobs.cli.engine.simulate import remembering
from replica.raft import roles
from replica.simulate.faulty_run import Result
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import command_line


def test_each_seed_gets_a_line(kraftlake: Kraftlake) -> None:
    ended = kraftlake("simulate", "--seeds", "3:5", "--events", "200")
    assert ended.code == 0
    assert ended.lines[:2] == ["seed 3: ok, 200 events", "seed 4: ok, 200 events"]
    assert ended.lines[2].startswith("2 seeds, 0 broken, ")
    rows = kraftlake("simulate", "--seeds", "3:4", "--events", "200", "--json").rows
    assert rows == [{"seed": 3, "events": 200, "result": "ok"}]


def test_a_broken_promise_is_named_with_the_command_that_repeats_it(
    kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = roles.leader_high_watermark
    monkeypatch.setattr(
        roles,
        "leader_high_watermark",
        lambda voters, ends, start, current: rule(voters, ends, -1, current),
    )
    arguments = ("simulate", "--seeds", "0:9", "--events", "2000")
    ended = kraftlake(*arguments)
    assert ended.code == 1
    line = next(line for line in ended.lines if "high watermark: " in line)
    seed = int(line.split()[1].rstrip(":"))
    again = f"kraftlake simulate --seeds {seed}:{seed + 1} --events 2000"
    assert line.endswith(f"; again: {again}")
    results = {row["result"] for row in kraftlake(*again.split()[1:], "--json").rows}
    assert results == {"high watermark"}


@pytest.mark.parametrize("seeds", ["5", "5:5", "a:b", "-1:3", "\u0663:\u0665"])
def test_seeds_that_are_no_range_are_a_usage_error(kraftlake: Kraftlake, seeds: str) -> None:
    ended = kraftlake("simulate", "--seeds", seeds)
    assert ended.code == 2
    assert ended.error == f"--seeds {seeds}: expected A:B with A below B, such as 0:200"


def test_a_campaign_goes_on_where_it_stopped(kraftlake: Kraftlake, tmp_path: Path) -> None:
    state = tmp_path / "campaign.jsonl"
    arguments = ("--events", "100", "--state", str(state))
    assert kraftlake("simulate", "--seeds", "0:3", *arguments).code == 0
    done = state.read_text()
    state.write_text(done + done.splitlines()[0][:20])  # killed while it wrote
    ended = kraftlake("simulate", "--seeds", "0:5", *arguments)
    assert ended.lines[:2] == ["seed 3: ok, 100 events", "seed 4: ok, 100 events"]
    assert ended.lines[2].startswith("5 seeds, 3 of them done before, 0 broken, ")
    assert state.read_text().startswith(done)
    assert [json.loads(line)["seed"] for line in state.read_text().splitlines()] == [*range(5)]


def test_a_campaign_remembers_what_was_broken(kraftlake: Kraftlake, tmp_path: Path) -> None:
    state = tmp_path / "campaign.jsonl"
    result = Result(7, 100, "", 0, 0, "votes: node 2 forgot its vote", number=7)
    state.write_text(json.dumps(asdict(result)) + "\n")
    ended = kraftlake("simulate", "--seeds", "7:8", "--events", "100", "--state", str(state))
    assert ended.code == 1
    assert ended.lines[0] == f"seed 7: {result.broken}; again: {result.replay_command}"
    assert ended.lines[1].startswith("1 seeds, 1 of them done before, 1 broken, ")


def test_processes_give_the_same_results(kraftlake: Kraftlake, tmp_path: Path) -> None:
    states = []
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.jsonl"
        options = ("--seeds", "0:4", "--events", "200", "--state", str(path), "--jobs", jobs)
        assert kraftlake("simulate", *options).code == 0
        states.append(path.read_text())
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{}", "line 1: expected a campaign's result; name a new file"),
        ("some text", "line 1: expected a campaign's result; name a new file"),
        (
            json.dumps(asdict(Result(1, 50, "", 0, 0))),
            "line 1: 50 events, not 100; name another file, or the same --events",
        ),
    ],
)
def test_a_state_file_of_something_else_is_a_usage_error(
    kraftlake: Kraftlake, tmp_path: Path, content: str, why: str
) -> None:
    state = tmp_path / "campaign.jsonl"
    state.write_text(content + "\n")
    ended = kraftlake("simulate", "--seeds", "0:2", "--events", "100", "--state", str(state))
    assert (ended.code, ended.error) == (2, f"{state}: {why}")
    assert state.read_text() == content + "\n"


def test_an_interrupted_campaign_says_how_it_goes_on(tmp_path: Path) -> None:
    """However many seeds it has: none is begun long before its turn."""
    state = tmp_path / "campaign.jsonl"
    command = command_line("simulate", "--seeds", "0:1000000000")
    command += ["--events", "100", "--state", str(state), "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"seed 0: ok, 100 events\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    done = len(state.read_text().splitlines())
    assert said.decode() == f"stopped after {done} seeds; the same command goes on\n"


def test_an_interrupt_right_after_a_seed_was_remembered_counts_it(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupted(path: str | None) -> Iterator[Callable[[Result], None]]:
        with remembering(path) as remember:

            def remember_and_stop(result: Result) -> None:
                remember(result)
                if result.seed == 1:
                    raise KeyboardInterrupt

            yield remember_and_stop

    monkeypatch.setattr("jobs.cli.engine.simulate.remembering", interrupted)
    state = str(tmp_path / "campaign.jsonl")
    ended = kraftlake("simulate", "--seeds", "0:9", "--events", "100", "--state", state)
    assert ended.code == 130
    assert ended.err == "stopped after 2 seeds; the same command goes on\n"
