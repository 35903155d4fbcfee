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
TEMPLATES = REPOSITORY / "pipelines" / "report" / "templates"
TAG = re.compile(
    r"<(!doctype|!--|/?(a|b|body|br|button|circle|code|details|div|em|form|h[1-6]|head|html|i|iframe|"
    r"img|input|li|link|meta|ol|p|path|pre|rect|script|span|strong|style|summary|svg|table|tbody|td|"
    r"text|th|thead|title|tr|ul)[\s/>])",
    re.IGNORECASE,
)
SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


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


def faults_of_template(text: str) -> Iterator[str]:
    """Where a template leaves a text as it is, or puts one where escaping isn't enough."""
    if re.search(r"\|\s*safe\b|autoescape|\bMarkup\b|\bHtml\b", text):
        yield "leaves a text as it is"
    for tag in re.findall(r"<[a-zA-Z][^>]*>", re.sub(r"{#.*?#}", "", text, flags=re.DOTALL)):
        bare = re.sub(r"\"[^\"]*\"", "", re.sub(r"{%.*?%}", "", tag))
        if "{{" in bare:
            yield f"{tag}: a value outside of double quotes"
        if re.search(r"\s(on[a-z]+|style|srcdoc|formaction|action)\s*=", tag):
            yield f"{tag}: an attribute that is a script or a style"
        for value in re.findall(r"(?:href|src)=\"([^\"]*)\"", tag):
            if "{{" in value and not value.startswith("#"):
                yield f"{tag}: a link that a value chooses"
    for content in SCRIPT.findall(text):
        if content not in ("{{ script }}", "{{ t.data }}"):
            yield f"{content}: a script with a value"


def test_templates_put_values_only_where_they_are_escaped() -> None:
    files = sorted(TEMPLATES.glob("*.html"))
    assert files
    assert [
        f"{file.name}: {fault}"
        for file in files
        for fault in faults_of_template(file.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "template",
    [
        "<p>{{ name|safe }}</p>",
        "{% autoescape false %}{{ name }}{% endautoescape %}",
        "<p class={{ name }}>",
        "<p {{ name }}>",
        """<p class='{{ name }}'>""",
        """<p onclick="x({{ name }})">""",
        """<p style="color: {{ name }}">""",
        """<a href="{{ name }}">""",
        "<script>let x = {{ name }}</script>",
    ],
)
def test_each_fault_of_a_template_is_found(template: str) -> None:
    assert list(faults_of_template(template))


def test_no_script_of_the_report_makes_markup_of_text() -> None:
    makers = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bFunction\(|"
        r"setTimeout\(\s*[\"'`]|createContextualFragment|DOMParser|srcdoc"
    )
    scripts = sorted(TEMPLATES.glob("*.js"))
    assert scripts
    assert [file.name for file in scripts if makers.search(file.read_text(encoding="utf-8"))] == []
