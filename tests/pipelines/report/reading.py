"""An HTML page read back: its elements, its text, and what a browser or a screen reader needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Page(HTMLParser):
    """The parsed page. tags: (name, attributes) of every element in order. texts: the text between
    the tags. sql: the text of each SQL block."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "pre":
            self.sql.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> doesn't close the element that is open"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            return
        self.texts.append(data)
        if "pre" in self.open:
            self.sql[-1] += data

    @property
    def text(self) -> str:
        """All text of the page, with blanks joined."""
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of that name."""
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(html: str) -> Page:
    """The page. Raises AssertionError where an element isn't closed."""
    page = Page()
    page.feed(html)
    page.close()
    assert not page.open, f"left open: {page.open}"
    return page


def shortcomings(page: Page) -> list[str]:
    """What would prevent a person from using the page: broken links and names, skipped headings."""
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    found = [f"id {one} twice" for one in set(ids) if ids.count(one) > 1]
    for tag, attributes in page.tags:
        href = attributes.get("href", "#")
        if not href.startswith("#"):
            found.append(f"{tag} leads out of the page: {href}")
        elif href != "#" and href[1:] not in ids:
            found.append(f"no element for the link {href}")
        for one in attributes.get("aria-labelledby", "").split():
            if one not in ids:
                found.append(f"no element {one} for a label")
        found += [f"{tag} with {name}" for name in attributes if name in ("src", "style", "srcset")]
        found += [f"{tag} with {name}" for name in attributes if name.startswith("on")]
        if tag == "th" and attributes.get("scope") not in ("col", "row"):
            found.append("a table header that doesn't say of what")
        if tag == "svg" and attributes.get("role") == "img" and "aria-labelledby" not in attributes:
            found.append("a drawing without a name")
        if "tabindex" in attributes and attributes.get("role") == "region":
            assert attributes.get("aria-label"), "a region without a name"
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3", "h4")]
    if levels[:1] != [1] or levels.count(1) != 1:
        found.append("not one h1 at the top")
    found += [f"h{b} below h{a}" for a, b in pairwise(levels) if b > a + 1]
    return found
