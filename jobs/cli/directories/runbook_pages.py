"""The runbooks as a person reads them in a terminal: those of docs/, which every installation
brings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from replica.installation import shipped

_FOLDED = re.compile(r"^<details markdown=.*?^</details>$\n*", re.MULTILINE | re.DOTALL)
"""The incidents that the documentation plays below a runbook."""


def runbooks() -> dict[str, str]:
    """The text of each runbook, by its name; empty where this installation has none."""
    folder = shipped("docs/how-to/runbooks", "runbooks")
    if folder is None:
        return {}
    pages = {
        page.name.removesuffix(".md"): page
        for page in folder.iterdir()
        if page.name.endswith(".md") and page.name != "README.md"
    }
    return {name: pages[name].read_text(encoding="utf-8") for name in sorted(pages)}


def page_lines(text: str) -> Iterator[str]:
    """The lines of a runbook, without what is folded away."""
    yield from _FOLDED.sub("", text).rstrip().splitlines()
