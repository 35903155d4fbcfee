"""HTML and SVG. No other module makes markup of text, so that a name from a log or a file never
becomes a tag, an attribute or a script.

Escaped text has the type `Html`. Other text is escaped where it enters an element. In other modules
only constants may become Html; a test in tests/architecture checks this.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = [
    "EMPTY", "Html", "content_hash", "document", "element", "in_script", "joined", "packaged",
    "ticks", "visible", "void",
]  # fmt: skip

_ESCAPED = {ord(one): f"&#{ord(one)};" for one in "\"'"} | {38: "&amp;", 60: "&lt;", 62: "&gt;"}


class Html(str):
    """Markup. Text that is added to markup, or joined by it, is escaped unless the text is Html
    itself."""

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
    """`text`, in which an escape such as \\x1b replaces each character, except a newline, that
    can't be seen or that changes how other characters are seen. Names come from logs and file
    systems: they may have control characters, marks that turn the direction of writing, and bytes
    that aren't UTF-8."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def joined(parts: Iterable[str], between: Html = EMPTY) -> Html:
    """The parts one after the other. A part that is no Html is escaped."""
    return between.join(parts)


def element(name: str, /, *children: str, **attributes: object) -> Html:
    """An element whose content is escaped, except Html. `class_` is the attribute class; `_` in a
    name stands for `-`; None leaves an attribute out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_content(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{shown}>{joined(children)}</{name}>")


def _content(text: str) -> str:
    """The text escaped. Markup stays as it is, also Markup of Jinja."""
    return text if hasattr(text, "__html__") else visible(text).translate(_ESCAPED)


def ticks(text: str) -> Html:
    """A sentence, in which the text between two backticks becomes an element `code`."""
    return joined(
        element("code", one) if place % 2 else one for place, one in enumerate(text.split("`"))
    )


def void(name: str, /, **attributes: object) -> Html:
    """An element that never has content, such as input. attributes: as for `element`."""
    return Html(element(name, **attributes).removesuffix(f"</{name}>"))


def document(title: str, style: Html, *body: str, script: Html = EMPTY) -> Html:
    """A page that loads nothing from elsewhere. style: its style sheet. script: its only script;
    empty for a page without one."""
    policy = f"default-src 'none'; style-src {content_hash(style)}"
    if script:
        policy += f"; script-src {content_hash(script)}"
    head = (
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    content = element("body", *body, *((element("script", script),) if script else ()))
    page = element("html", element("head", *head), content, lang="en")
    return Html("<!doctype html>\n") + page


def in_script(value: Any) -> Html:
    """`value` as JSON in ASCII. It is without <, > and &, so it can neither end nor begin a
    script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Html(text)


@cache
def packaged(package: str, *path: str) -> Html:
    """The content of a file of kraftlake, such as a style or a script, as it stands. The package
    may be in a zip."""
    return Html(files(package).joinpath(*path).read_text(encoding="utf-8"))


def content_hash(text: Html) -> str:
    """The source expression of an inline element (Content Security Policy 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
