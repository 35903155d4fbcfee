"""Links from pages of docs/ to other files of the repository: records of campaigns, code, settings.
The site has a page for each such file, so that links work without a host for the code.

mkdocs calls `on_files` once and `on_page_markdown` for each page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
OUTSIDE = "repository/"
"""The folder of the site for files outside of docs/."""
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"
_LANGUAGES = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml", ".service": "ini"}


def on_files(files: Any, *, config: Any) -> Any:
    from mkdocs.structure.files import File

    pages = [DOCS + file.src_uri for file in files.documentation_pages()]
    for path in sorted(_linked_outside(pages)):
        files.append(File.generated(config, site_path(path), content=_content(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    return with_site_links(markdown, repository_path(page.file.src_uri))


def site_path(path: str) -> str:
    """The path of a file's page, relative to the site's source. path: relative to
    the repository."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return f"{OUTSIDE}{path}" if path.endswith(".md") else f"{OUTSIDE}{path}.md"


def repository_path(site: str) -> str:
    """The path, relative to the repository, of the file from which a page is made. site: the
    page's path, relative to the site's source."""
    if not site.startswith(OUTSIDE):
        return f"{DOCS}{site}"
    path = site.removeprefix(OUTSIDE)
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def with_site_links(markdown: str, path: str) -> str:
    """The text of the file at `path`, with links that work in the site. A link to a folder becomes
    its text, because the site has no page for a folder."""

    def replaced(link: re.Match[str]) -> str:
        target = _target(link[2], path)
        if target is None or (path.startswith(DOCS) and target.startswith(DOCS)):
            return link[0]
        folder = PurePosixPath(site_path(path)).parent
        return f"{link[1]}{os.path.relpath(site_path(target), folder)}{link[3] or ''}{link[4]}"

    return _outside_fences(markdown, lambda text: _LINK.sub(replaced, _without_folders(text, path)))


def _without_folders(text: str, path: str) -> str:
    def replaced(link: re.Match[str]) -> str:
        target = _target(link[2], path)
        return link[1] if target is not None and (ROOT / target).is_dir() else link[0]

    return re.sub(r"\[([^\]]*)\]\(([^)\s#]+)\)", replaced, text)


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def _target(link: str, path: str) -> str | None:
    """The file that a link of the file at `path` leads to; None for a link to another host."""
    if re.match(r"[a-z]+:", link):
        return None
    return os.path.normpath(PurePosixPath(path).parent / link)


def _linked_outside(pages: list[str]) -> set[str]:
    """The files outside of docs/ to which these pages link, and the files to which those files link
    in turn."""
    found: set[str] = set()
    todo = [*pages]
    while todo:
        path = todo.pop()
        for link in _LINK.finditer(_FENCE.sub("", (ROOT / path).read_text(encoding="utf-8"))):
            target = _target(link[2], path)
            if target is None or target in found or target.startswith(DOCS):
                continue
            if (ROOT / target).is_file():
                found.add(target)
                todo += [target] if target.endswith(".md") else []
    return found


def _content(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    language = _LANGUAGES.get(Path(path).suffix, "text")
    return f"{_UNSEARCHED}# {path}\n\n~~~~~~ {language}\n{text}\n~~~~~~\n"
