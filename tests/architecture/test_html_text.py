"""Markup is made by pipelines.html_text alone, which escapes each text that enters it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

HTML_TEXT = "pipelines/html_text.py"
MAY_CALL_IT_HTML = {
    "pipelines/quality/pages.py": 1,  # What Great Expectations' templates made of escaped values.
}
STATIC = REPOSITORY / "pipelines" / "report" / "static"
TAG = re.compile(
    r"<(!doctype|!--|/?(a|b|body|br|button|circle|code|details|div|em|form|h[1-6]|head|html|i|iframe|"
    r"img|input|li|link|meta|ol|p|path|pre|rect|script|span|strong|style|summary|svg|table|tbody|td|"
    r"text|th|thead|title|tr|ul)[\s/>])",
    re.IGNORECASE,
)


def markup_made_elsewhere(root: Path) -> Iterator[str]:
    for path in python_files(root, *TOP_LEVEL):
        name = str(path.relative_to(root))
        if name == HTML_TEXT:
            continue
        found = list(found_in(path.read_text(encoding="utf-8")))
        if len(found) != MAY_CALL_IT_HTML.get(name, 0):
            yield from (f"{name}:{line}: {what}" for line, what in found)


def found_in(text: str) -> Iterator[tuple[int, str]]:
    for node in nodes_of(text):
        match node:
            case ast.JoinedStr() if any(map(_opens_tag, node.values)):
                yield node.lineno, "an f-string with a tag: build it by html_text.element"
            case ast.BinOp(op=ast.Add() | ast.Mod(), left=ast.Constant() as left):
                if _opens_tag(left):
                    yield node.lineno, "text added to a tag: build it by html_text.element"
            case ast.Call(func=ast.Name(id="Html"), args=[argument]):
                if not isinstance(argument, ast.Constant):
                    yield node.lineno, "Html of what is no constant"


def _opens_tag(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and bool(TAG.search(str(part.value)))


def test_no_module_but_one_makes_markup_of_text() -> None:
    assert list(markup_made_elsewhere(REPOSITORY)) == []


@pytest.mark.parametrize(
    "code",
    [
        'f"<p>{name}</p>"',
        """f'<a href="{name}">x'""",
        '"<b>" + name',
        '"<td>%s</td>" % name',
        "Html(name)",
        'Html(f"x {name}")',
    ],
)
def test_each_way_to_make_it_elsewhere_is_found(code: str) -> None:
    assert list(found_in(code))


@pytest.mark.parametrize(
    "code",
    ['f"{a} < {b}"', 'f"{a}<={b}"', 'f"array<{kind}>"', 'Html("<br>")', 'element("p", name)'],
)
def test_what_is_no_markup_passes(code: str) -> None:
    assert list(found_in(code)) == []


def test_no_script_of_the_report_makes_markup_of_text() -> None:
    makers = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bFunction\(|"
        r"setTimeout\(\s*[\"'`]|createContextualFragment|DOMParser|srcdoc"
    )
    scripts = sorted(STATIC.glob("*.js"))
    assert scripts
    assert [file.name for file in scripts if makers.search(file.read_text(encoding="utf-8"))] == []
