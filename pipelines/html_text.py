"""HTML and SVG. No other module makes markup of text, so that a stranger's name never becomes a
tag, an attribute or a script.

Escaped text has the type `Html`. Other text is escaped where it enters an element or a template. In
other modules only constants may become Html; a test in tests/architecture holds this.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jinja2

    Templates: TypeAlias = jinja2.Environment

__all__ = [
    "EMPTY", "Html", "Templates", "content_hash", "document", "element", "in_script", "joined",
    "labelled", "packaged", "templates", "ticks", "visible",
]  # fmt: skip

_ESCAPED = {ord(one): f"&#{ord(one)};" for one in "\"'"} | {38: "&amp;", 60: "&lt;", 62: "&gt;"}


class Html(str):
    """Markup. What is added to it, or joined by it, is escaped unless it is markup itself."""

    __slots__ = ()

    def __html__(self) -> Html:
        """Jinja and other libraries recognize markup by this method."""
        return self

    def __add__(self, other: str) -> Html:
        return Html(f"{self}{_content(other)}")

    def join(self, parts: Iterable[str]) -> Html:
        return Html(super().join(map(_content, parts)))


EMPTY = Html("")


def visible(text: str) -> str:
    """`text`, in which a code replaces each character that can't be seen or that changes how other
    characters are seen. Names come from logs and file systems: they may have control characters,
    marks that turn the direction of writing, and bytes that aren't UTF-8."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def joined(parts: Iterable[str], between: Html = EMPTY) -> Html:
    """The parts one after the other. A part that is no Html is escaped."""
    return between.join(parts)


def element(name: str, *children: str, **attributes: object) -> Html:
    """An element whose content is escaped, except Html. `class_` is the attribute class; `_` in a
    name stands for `-`; None leaves an attribute out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_content(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{shown}>{joined(children)}</{name}>")


def _content(text: str) -> str:
    """Markup unchanged, Jinja's too; other text escaped."""
    return text if hasattr(text, "__html__") else visible(text).translate(_ESCAPED)


def ticks(text: str) -> Html:
    """A sentence, with `code` for backticks."""
    return joined(
        element("code", one) if place % 2 else one for place, one in enumerate(text.split("`"))
    )


def document(title: str, style: Html, *body: str) -> Html:
    """A page without scripts. It loads nothing from elsewhere. style: the page's style sheet."""
    policy = f"default-src 'none'; style-src {content_hash(style)}"
    head = (
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("title", title),
        element("style", style),
    )
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return Html("<!doctype html>\n") + page


def in_script(value: Any) -> Html:
    """JSON in ASCII, without <, > and &, which can neither end nor begin a script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Html(text)


@cache
def packaged(package: str, *path: str) -> Html:
    """The content of a file of ours, such as a style or a script, as it stands. The package may be
    in a zip."""
    return Html(files(package).joinpath(*path).read_text(encoding="utf-8"))


def content_hash(text: Html) -> str:
    """The source expression of an inline element (Content Security Policy 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def templates(
    package: str,
    folder: str,
    *,
    filters: Mapping[str, Callable[..., Any]],
    names: Mapping[str, Any],
) -> Templates:
    """The templates in a folder of a package. names: what each template may use. The value of an
    expression in a template is escaped as by `element`; None becomes no text."""
    import jinja2  # the core's pages need no Jinja

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(filters, labelled=labelled)
    environment.globals.update(names)
    return environment


def _shown(value: object) -> object:
    if value is None:
        return ""
    return Html(_content(value if isinstance(value, str) else str(value)))


_TAG = re.compile(r"<[^>]*>")
_HEAD = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_CELL = re.compile(r"<tr\b|<(?:td|th)\b")


def labelled(table: Html) -> Html:
    """The HTML of a template's table with the attribute data-label in each cell of the body: the
    head of the cell's column. A phone shows each row as a card, in which a cell has this name. All
    values of a lake are escaped already, so every tag is the template's."""
    head, body, rest = str(table).partition("<tbody>")
    texts = (html.unescape(_TAG.sub("", one)) for one in _HEAD.findall(head))
    labels = [_content(" ".join(one.split())) for one in texts]
    place = 0

    def with_label(found: re.Match[str]) -> str:
        nonlocal place
        if found[0] == "<tr":
            place = 0
            return found[0]
        label = labels[place] if place < len(labels) else ""
        place += 1
        return f'{found[0]} data-label="{label}"'

    return Html(head + body + _CELL.sub(with_label, rest))
