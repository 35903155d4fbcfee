"""docs/ as a site: its navigation names each page, and `make docs` builds it without a warning."""

from __future__ import annotations

import json
import re
import runpy
import subprocess

import pytest

from tests.docs.pages import ROOT

_SITE = ROOT / "packaging" / "site"
_NAVIGATION = (_SITE / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
_PAGES = re.findall(r": (\S+\.md)$", _NAVIGATION, re.MULTILINE)
_OUTSIDE_LINKS = runpy.run_path(str(_SITE / "outside_links.py"))


def test_the_navigation_names_each_page_once() -> None:
    docs = ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert sorted(_PAGES) == sorted(there)


def test_the_navigation_begins_with_the_concepts() -> None:
    assert _PAGES[0] == "explanation/concepts.md"


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("docs/how-to/install.md", "[a](cluster.md#b)", "[a](cluster.md#b)"),
        (
            "docs/how-to/install.md",
            "[a](../../tests/bench/SQL.md#b)",
            "[a](../repository/tests/bench/SQL.md#b)",
        ),
        ("docs/README.md", "[a](../README.md)", "[a](repository/README.md)"),
        (
            "docs/how-to/install.md",
            "[a](../../replica/words.py)",
            "[a](../repository/replica/words.py.md)",
        ),
        ("docs/how-to/feed-others.md", "see [conf](../../conf/feeds).", "see conf."),
        ("README.md", "[a](docs/README.md)", "[a](../README.md)"),
        ("docs/README.md", "[a](https://kafka.apache.org)", "[a](https://kafka.apache.org)"),
        ("docs/README.md", "```sh\n[a](../README.md)\n```", "```sh\n[a](../README.md)\n```"),
    ],
)
def test_a_link_out_of_docs_leads_to_the_sites_page_of_that_file(
    path: str, text: str, shown: str
) -> None:
    assert _OUTSIDE_LINKS["with_site_links"](text, path) == shown
    site = _OUTSIDE_LINKS["site_path"](path)
    assert _OUTSIDE_LINKS["repository_path"](site) == path


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_the_network_for_nothing() -> None:
    """Strict: a link or heading that isn't there, or a page outside of the navigation, is an
    error."""
    built = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    site = ROOT / "build" / "site"
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'src="https?:[^"]*"|<link[^>]*stylesheet[^>]*"https?:', text) == [], page
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    made = {re.sub(r"(^|/)README$", r"\1index", page.removesuffix(".md")) for page in _PAGES}
    assert {f"{page}.html" for page in made} - {"index.html"} <= found
