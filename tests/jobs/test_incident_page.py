"""The page of `what-happened --html`: what the command prints, for a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from replica.simulate.metadata_records import create_topic
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake

CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")


class Page(HTMLParser):
    """A page as a browser reads it. tags: all that it has. texts: by tag, the text within."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, "an element isn't closed"

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag != "meta":
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    @property
    def whole(self) -> str:
        return " ".join(self.texts["body"][0].split())


@pytest.mark.parametrize(
    "cluster", [CLUSTERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in CLUSTERS[1:])]
)
def test_the_page_tells_what_the_command_prints(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, cluster: str
) -> None:
    file = tmp_path / "incident.html"
    ended = kraftlake("what-happened", "--html", file, data / cluster / "split")
    page = Page(file.read_text(encoding="utf-8"))
    assert ended.lines[-2:] == ["", str(file)]
    level, headline = ended.lines[0][:12].strip(), ended.lines[0][12:]
    assert level in page.whole
    assert headline in page.texts["p"]
    events = [line[31:] for line in ended.lines if line.startswith("  20")]
    assert [text for text in page.texts["td"] if ":" in text and text in events] == events
    steps = [line[5:] for line in ended.lines if line[2:4] in ("1.", "2.", "3.", "4.", "5.")]
    assert [one.replace("`", "") for one in steps] == page.texts.get("li", [])[: len(steps)]


def test_a_hostile_name_is_text_and_the_page_runs_no_script(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    name = "<script>alert(1)</script>&\u202e"
    quorum = ScriptedQuorum("hostile", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.crash(2, 3)
    quorum.append(1, create_topic(name, (6,)))
    quorum.run_ms(600)
    write_capture(quorum.capture(), str(tmp_path / "nodes"))
    file = tmp_path / "incident.html"
    kraftlake("what-happened", "--html", file, tmp_path / "nodes")
    text = file.read_text(encoding="utf-8")
    page = Page(text)
    assert "<script>alert(1)</script>" in page.whole
    assert "\u202e" not in text
    assert "script" not in page.tags
    assert "default-src &#39;none&#39;" in text


def test_a_page_that_can_t_be_written_is_named_with_its_option(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    nowhere = tmp_path / "missing" / "x.html"
    ended = kraftlake("what-happened", "--html", nowhere, data / CLUSTERS[0] / "final")
    assert ended.code == 2
    assert f"--html {nowhere}: No such file or directory" in ended.err
