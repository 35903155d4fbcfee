"""Names of a stranger's cluster in everything that commands on directories print."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from jobs.cli.asking.query_result import _FORMULA_STARTS
from tests.hostile_log import FORMULA, write_hostile_node
from tests.jobs.conftest import Ended, Kraftlake
from tests.jobs.directory_commands import CALLS

MOVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


SHOWN = [call for call in CALLS if "--plain-csv" not in call]
"""All calls but those whose output is the names' exact bytes, for programs."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile_node(tmp_path_factory.mktemp("hostile") / "1")


def lines_of(ended: Ended) -> str:
    return (ended.out + ended.err).replace("\r\n", "\n")


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_no_name_in_a_log_moves_a_terminal(
    node: Path, kraftlake: Kraftlake, command: tuple[str, ...]
) -> None:
    ended = kraftlake(*command, node)
    assert ended.code in (0, 1, 3, 4), ended.err
    assert ended.out
    assert "internal error" not in ended.err
    assert MOVING.search(lines_of(ended)) is None
    if command[-1] == "--json":
        assert ended.rows


@pytest.mark.parametrize("command", ["state", "history", "timeline"])
def test_no_name_in_a_log_is_a_formula_in_csv(
    node: Path, kraftlake: Kraftlake, command: str
) -> None:
    rows = list(csv.reader(io.StringIO(kraftlake(command, "--csv", node).out, newline="")))
    cells = [cell for row in rows for cell in row]
    numbers = re.compile(r"-?\d+(\.\d+)?")
    assert not [
        cell for cell in cells if cell.startswith(_FORMULA_STARTS) and not numbers.fullmatch(cell)
    ]
    if command != "timeline":
        assert any(FORMULA in cell for cell in cells)
