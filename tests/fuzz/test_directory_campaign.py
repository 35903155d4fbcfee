"""A short campaign of damaged directories, in every run of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.directory_campaign import capture, make_input


@pytest.mark.parametrize("number", range(3))
def test_no_damaged_directory_breaks_a_command_or_moves_a_terminal(
    tmp_path: Path, number: int
) -> None:
    for command in make_input(tmp_path / "input", 7, number):
        capture(command)
