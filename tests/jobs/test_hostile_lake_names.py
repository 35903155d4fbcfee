"""Names of a stranger's cluster and folder in what commands on a lake print, and in its pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.hostile_log import TEXTS, write_hostile_node
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_hostile_names import MOVING, lines_of
from tests.secret_log import CLUSTER

FOLDER = "1\x1b]0;x\x07\u202e\n2"
CHANGES = "SELECT * FROM gold.metadata_changes"
FILES = "SELECT * FROM bronze.captures"
ASKING = [
    ("lake",),
    ("lake", "--json"),
    ("quality",),
    *(
        ("sql", query, *form)
        for query in (CHANGES, FILES)
        for form in ((), ("--csv",), ("--json",))
    ),
    ("sql", "--expanded", CHANGES),
    ("sql", "--engine", "duckdb", CHANGES),
    ("sql", "SELECT * FROM gold.\x1b[31mx"),
    ("state",),
    ("state", "--json"),
    ("state", "--exposure"),
    ("history",),
    ("history", "--csv"),
    ("plan", "--stop-broker", "10,12", "--decommission", "10", "--roll"),
    ("plan", "--stop-rack", "\x1b[31m"),
    ("restore", "--release", "4.4", "--dry-run"),
    ("forget", "--cluster", CLUSTER),
    ("forget", "--cluster", "\x1b[31m"),
    ("build",),
]


def lake_of(folder: Path, texts: tuple[str, ...]) -> Path:
    """A lake with all tables, of one node with these texts as names, which lies in FOLDER."""
    write_hostile_node(folder / FOLDER, texts)
    lake = folder / "lake"
    assert run(app, ["ingest", "--lake", str(lake), str(folder / FOLDER)]) == 0
    assert run(app, ["build", "--lake", str(lake)]) == 0
    return lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lake_of(tmp_path_factory.mktemp("hostile"), TEXTS)


@pytest.mark.parametrize("words", ASKING, ids=lambda words: ascii(" ".join(words)))
def test_no_name_in_a_lake_moves_a_terminal(
    lake: Path, kraftlake: Kraftlake, words: tuple[str, ...]
) -> None:
    ended = kraftlake(words[0], "--lake", lake, *words[1:])
    assert ended.out or ended.err
    assert "internal error" not in ended.err
    assert MOVING.search(lines_of(ended)) is None
    if words[-1] == "--json":
        assert ended.rows


@pytest.mark.slow
def test_no_name_of_a_folder_moves_a_terminal_while_a_lake_is_filled_and_read(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    node = write_hostile_node(tmp_path / FOLDER)
    lake, out = tmp_path / "lake", tmp_path / "out"
    out.mkdir()
    for words in (
        ("ingest", "--dry-run", "--lake", lake, node),
        ("ingest", "--lake", lake, node),
        ("build", "--lake", lake),
        ("report", "--lake", lake, "-o", out / f"{FOLDER}.html"),
        ("report", node, "-o", out / "x.html"),
        ("export", "--lake", lake, "-o", out / f"{FOLDER}.sqlite"),
        ("publish", "--lake", lake, "--table", "gold.findings", "--to", out / f"{FOLDER}x"),
        ("capture", node, "-o", out / f"{FOLDER}y"),
        ("redact", node, "-o", out / f"{FOLDER}z"),
        ("prune", "--older-than", "1d", out),
        ("rehearse", "--seeds", "0:1", "--failures", "0", node),
        ("check", node / "none"),
        ("explain", "\x1b[31m"),
        ("\x1b[31m",),
        ("check", "--\x1b[31m"),
        ("simulate", "\x1b[31m", "-o", out / "s"),
        ("completion", "\x1b[31m"),
        ("consume", "-b", "\x1b[31m:1", "--topic", "t", "--timeout", "1"),
        ("replica", "describe", "-b", "\x1b[31m"),
        ("replica", "run", node / "\x1b[31m.properties"),
        ("register", "--lake", tmp_path / "no\u202e", "--catalog", tmp_path / FOLDER),
    ):
        ended = kraftlake(*words)
        assert ended.out or ended.err, words
        assert "internal error" not in ended.err, (words, ended.err)
        assert MOVING.search(lines_of(ended)) is None, (words, lines_of(ended))


class Shape(HTMLParser):
    """The elements of a page in their order, each with the names of its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.texts = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment",))

    def handle_data(self, data: str) -> None:
        self.texts += data


MARKUP = (
    "<script>alert(1)</script>", "</title><img src=x onerror=alert(1)>", "\" onfocus=\"alert(1)",
    "' onfocus='alert(1)", "</script><script>alert(1)", "<!--", "]]>", "{{ 7*7 }}", "&lt;b&gt;",
)  # fmt: skip
"""As names of topics, brokers, listeners, hosts, racks, principals, resources and configs."""


@pytest.mark.slow
def test_no_name_becomes_an_element_or_an_attribute_of_a_page(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """The pages have the same elements with names that aren't markup."""
    pages = {}
    for kind in ("markup", "plain"):
        plain = tuple(re.sub(r"[<>\"'&{}]", "x", text) for text in MARKUP)
        lake = lake_of(tmp_path / kind, MARKUP if kind == "markup" else plain)
        report = tmp_path / kind / "lake.html"
        assert kraftlake("report", "--lake", lake, "-o", report).code == 0
        made = [report, *sorted((lake / "_quality").glob("*.html"))]
        pages[kind] = {path.name: Shape(path.read_text(encoding="utf-8")) for path in made}
    assert len(pages["markup"]) > 20
    assert {name: page.found for name, page in pages["markup"].items()} == {
        name: page.found for name, page in pages["plain"].items()
    }
    assert pages["markup"]["lake.html"].texts.count("<script>alert(1)") > 3
