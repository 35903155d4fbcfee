"""A log that holds entries of two histories belongs to neither: no command counts it to one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.two_histories import two_histories

MIXED = (
    "The log of node 5 holds a mix of both histories: offsets 20 to 27 of the history of node 3, "
    "and from offset 28 on the history of nodes 1, 2 and 4. Use the log of node 5 for neither "
    "history."
)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_histories(tmp_path_factory.mktemp("mixed") / "nodes", mixed=(5,))


@pytest.mark.parametrize(
    "asked",
    [
        ("check",), ("what-happened",), ("recover", "--plan"), ("plan", "--roll"),
        ("state", "--exposure"),
    ],
)  # fmt: skip
def test_every_command_says_which_log_is_a_mix(
    kraftlake: Kraftlake, nodes: Path, asked: tuple[str, ...]
) -> None:
    out = kraftlake(*asked, nodes).out
    assert MIXED in out
    assert "the history of node 3 is the one that was there before. Trust only node 3" in out
    assert asked == ("what-happened",) or "nodes 3 and 5" not in out
    assert "before these nodes are started again" not in out


def test_no_line_of_a_plan_goes_on_with_a_mixed_log(kraftlake: Kraftlake, nodes: Path) -> None:
    out = kraftlake("recover", "--plan", nodes).out
    steps = [line for line in out.splitlines() if "# to go on with the history of" in line]
    told = [line.partition("#")[2] for line in steps]
    assert told == [
        " to go on with the history of nodes 1, 2 and 4",
        " to go on with the history of node 3",
    ]
    assert not any(f"{nodes}/5" in line for line in steps)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "2",
            "The log of node 5 holds a mix of both histories: offsets 20 to 27 of another history",
        ),
        ("1", "one side of them is a mix of two histories, and these directories don't show which"),
    ],
)
def test_a_mixed_log_and_one_of_its_histories_alone_show_that_there_is_a_mix(
    kraftlake: Kraftlake, nodes: Path, given: str, told: str
) -> None:
    """Node 2 led when the broker went on with the second history, so its log below is its own."""
    out = kraftlake("recover", "--plan", nodes / given, nodes / "5").out
    assert "start no node" in out
    assert told in out
    assert "was there before" not in out


def test_no_election_is_told_a_third_time_with_a_cause_across_the_seam(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """The mixed log holds epochs 2 and 3 of the first history, and epochs 4 to 7 of the second."""
    given = two_histories(tmp_path / "nodes", mixed=(5,), seam=22)
    lines = [one for one in kraftlake("timeline", given).lines if re.match(r"  \d\d:", one)]
    for epoch in (3, 5, 6):
        assert sum(f"leads epoch {epoch} " in line for line in lines) == 2
    for epoch in (2, 4, 7):
        assert sum(f"leads epoch {epoch} " in line for line in lines) == 1
