"""`kraftlake simulate`: a line per seed, and the command that repeats what broke."""

from __future__ import annotations

import pytest

from replica.raft.roles import leader
from tests.jobs.conftest import Kraftlake


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
    rule = leader.leader_high_watermark
    monkeypatch.setattr(
        leader,
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
