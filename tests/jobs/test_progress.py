"""What ingest and build say on a terminal while they work and at their end, and elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.cli.lake.progress import CommandProgress, DecodedBytes
from tests.jobs.terminal import Terminal
from tests.kraftlake_process import command_line, kraftlake

_ELAPSED = r"\d+:\d\d"


@pytest.fixture(scope="module")
def said(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By command, all that it wrote to a terminal; the lake is called `my lake`."""
    lake = tmp_path_factory.mktemp("progress") / "my lake"
    order = ("--order", "live,split,final")
    calls = {
        "ingest": ("ingest", "--lake", lake, *order, data / "kafka-3.7.2-static"),
        "build": ("build", "--lake", lake),
        "json": ("build", "--lake", lake, "--json"),
    }
    texts = {}
    for name, call in calls.items():
        terminal = Terminal([str(word) for word in command_line(*call)])
        texts[name] = terminal.rest()
        assert terminal.process.returncode == 0, texts[name]
        terminal.close()
    return {**texts, "lake": str(lake)}


@pytest.mark.parametrize("command", ["ingest", "build"])
def test_a_terminal_has_a_line_with_elapsed_time_percent_and_step_that_goes_away(
    said: dict[str, str], command: str
) -> None:
    lines = re.findall(rf"\r{command}: ({_ELAPSED})  ( *\d+)%  (.+?) *(?=\r)", said[command])
    assert lines, said[command]
    percents = [int(percent) for _, percent, _ in lines]
    assert percents == sorted(percents)
    assert 0 <= percents[0] <= percents[-1] <= 100
    shown = said[command].split("\n")
    assert all("%" not in line.rpartition("\r")[2] for line in shown), "a line was left there"


def test_a_terminal_is_told_how_long_it_took_and_what_comes_next(said: dict[str, str]) -> None:
    lake = said["lake"]
    done = rf"\ningest: done in {_ELAPSED}; next: kraftlake build --lake '{lake}'\r\n$"
    assert re.search(done, said["ingest"]), said["ingest"]
    following = (
        f"kraftlake sql --lake '{lake}' --question findings, or kraftlake report --lake '{lake}'"
    )
    assert re.search(rf"\nbuild: done in {_ELAPSED}; next: {following}", said["build"])


def test_json_has_neither_on_a_terminal(said: dict[str, str]) -> None:
    assert "%" not in said["json"]
    assert "next:" not in said["json"]


def test_elsewhere_there_are_lines_before_steps_and_nothing_else(
    data: Path, tmp_path: Path
) -> None:
    done = kraftlake("ingest", "--lake", tmp_path / "lake", data / "kafka-3.7.2-static/final/1")
    assert done.returncode == 0
    assert "ingest: 1 replicas: log records\n" in done.stderr
    assert "\r" not in done.stderr
    assert "next:" not in done.stderr


@pytest.mark.slow
def test_a_report_of_directories_shows_one_line_that_goes_away_before_the_verdict(
    data: Path, tmp_path: Path
) -> None:
    page = tmp_path / "incident.html"
    call = ("report", data / "kafka-3.7.2-static/final", "-o", page)
    terminal = Terminal([str(word) for word in command_line(*call)])
    text = terminal.rest()
    terminal.close()
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    assert not any("\r" in one or one.startswith(("ingest: ", "build: ")) for one in lines[1:]), (
        text
    )
    assert lines[-1] == str(page)
    *redrawn, verdict = lines[0].split("\r")
    assert all(re.fullmatch(r"(ingest|build): \d+:\d\d .*| *", one) for one in redrawn), redrawn
    assert any(one.strip() for one in redrawn), "work of some seconds shows that it goes on"
    assert re.match(r"[A-Z ]{12}\S", verdict), verdict


def test_decoded_bytes_are_told_as_a_share_of_those_of_all_passes() -> None:
    shares: list[float] = []

    class Told(CommandProgress):
        def share(self, share: float) -> None:
            shares.append(share)

    decoded = DecodedBytes(Told("ingest", is_shown=False), [30, 70])
    decoded.more(10)
    decoded.end_pass()
    decoded.more(35)
    decoded.more(90)
    decoded.end_pass()
    assert shares == [0.1, 0.3, 0.65, 1.0, 1.0]
