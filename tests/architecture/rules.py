"""The import rules of CONTRIBUTING.md's floors as data, and the checker that reads modules by them.

A module belongs to the longest folder of FOLDERS that holds it. Only syntax trees are read: an
import inside a function, or below TYPE_CHECKING, counts as an import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.trees import nodes_of

TOP_LEVEL = ("replica", "pipelines", "jobs", "kraftlake")
"""Our packages. Programs and notebooks import the last one."""
EVERYONE = (
    "replica.model", "replica.errors", "replica.severity", "replica.installation",
    "replica.shell_text", "replica.terminal_text", "replica.path_text", "replica.import_path",
    "replica.words",
)  # fmt: skip

_PIPELINES_FROM_REPLICA = (
    "replica.message",
    "replica.format",
    "replica.metadata",
    "replica.history",
    "replica.scan",
    "replica.doctor.quorum",
    "replica.doctor.check",
    "replica.doctor.health",
    "replica.doctor.verdict",
    "replica.consumer",
    "replica.doctor.redacted",
)

# Folder or module -> our modules that it may import, besides itself and EVERYONE. Not transitive.
ALLOWED: dict[str, tuple[str, ...]] = {
    "replica": (),
    "replica.model": (),
    "replica.severity": (),
    "replica.errors": (),
    "replica.installation": (),
    "replica.shell_text": (),
    "replica.terminal_text": (),
    "replica.path_text": (),
    "replica.import_path": (),
    "replica.words": (),
    "replica.message": (),
    "replica.format": ("replica.message",),
    "replica.metadata": ("replica.format", "replica.message"),
    "replica.history": (),
    "replica.scan": ("replica.format", "replica.metadata", "replica.message"),
    "replica.doctor": (),
    "replica.doctor.quorum": ("replica.history",),
    "replica.doctor.redacted": ("replica.format", "replica.metadata", "replica.message"),
    "replica.doctor.restore": ("replica.format", "replica.metadata", "replica.message"),
    "replica.doctor.check": (
        "replica.scan",
        "replica.doctor.quorum",
        "replica.history",
        "replica.format",
        "replica.metadata",
        "replica.message",
    ),
    "replica.doctor.health": (
        "replica.doctor.check",
        "replica.doctor.quorum",
        "replica.history",
        "replica.format",
        "replica.metadata",
        "replica.message",
        "replica.scan",
    ),
    "replica.doctor.verdict": (
        "replica.doctor.check",
        "replica.doctor.health",
        "replica.doctor.quorum",
        "replica.history",
        "replica.format",
        "replica.metadata",
    ),
    "replica.doctor.startup": (
        "replica.doctor.check",
        "replica.format",
        "replica.metadata",
    ),
    "replica.doctor.timeline": (
        "replica.doctor.check",
        "replica.doctor.quorum",
        "replica.history",
        "replica.format",
        "replica.metadata",
        "replica.message",
    ),
    "replica.doctor.preflight": (
        "replica.doctor.health",
        "replica.doctor.quorum",
        "replica.history",
        "replica.metadata",
    ),
    "replica.raft": ("replica.history", "replica.format.record"),
    "replica.machines": ("replica.raft", "replica.format", "replica.metadata"),
    "replica.storage": ("replica.format", "replica.history", "replica.message"),
    "replica.host": ("replica.raft", "replica.storage", "replica.history"),
    "replica.wire": ("replica.message",),
    "replica.node": (
        "replica.host",
        "replica.raft",
        "replica.machines",
        "replica.storage",
        "replica.wire",
        "replica.history",
        "replica.format",
        "replica.metadata",
        "replica.message",
    ),
    "replica.doctor.watching": (
        "replica.node",
        "replica.admin",
        "replica.doctor.health",
        "replica.doctor.check",
        "replica.metadata",
        "replica.format",
        "replica.raft",
        "replica.wire",
    ),
    "replica.consumer": ("replica.wire", "replica.format", "replica.history"),
    "replica.admin": ("replica.wire", "replica.format", "replica.history"),
    "replica.doctor.rehearsal": (
        "replica.simulate",
        "replica.doctor.quorum",
        "replica.raft",
        "replica.machines",
        "replica.storage",
        "replica.history",
        "replica.format",
    ),
    "replica.simulate": (
        "replica.host",
        "replica.raft",
        "replica.machines",
        "replica.storage",
        "replica.history",
        "replica.format",
        "replica.metadata",
        "replica.message",
    ),
    "pipelines": ("pipelines", *_PIPELINES_FROM_REPLICA),
    "jobs": ("pipelines", "replica"),
    "kraftlake": ("jobs", "pipelines", "replica"),
}

# Between the layers of the lake: silver and gold are made of bronze's tables, not by bronze's code.
_DERIVING = ("pipelines.cluster", "pipelines.silver", "pipelines.gold", "pipelines.replay")
_LAYERS = {
    "pipelines.bronze": _DERIVING,
    **dict.fromkeys(_DERIVING, ("pipelines.bronze",)),
}

_RAFT_HINT = "raft is sans-I/O: the host passes now_ms and randomness in, and acts on effects"

# Folder -> modules it must not import at all -> what to do instead.
BANNED: dict[str, dict[str, str]] = {
    "replica": dict.fromkeys(
        ("pyspark", "delta", "great_expectations", "pipelines", "jobs"),
        "replica runs without Spark: move the code to pipelines",
    ),
    "replica.raft": dict.fromkeys(
        ("asyncio", "socket", "os", "time", "random", "logging", "threading", "pathlib"), _RAFT_HINT
    ),
    "pipelines": dict.fromkeys(("jobs", "kraftlake"), "nothing imports jobs or kraftlake"),
    "jobs": {"kraftlake": "it is for programs: import what it names from where that is"},
    "tests": {},
    **{
        layer: dict.fromkeys(others, "the other tables are derived from bronze's tables")
        for layer, others in _LAYERS.items()
    },
}

# Module -> the only folder or module that may import it.
ONLY_IN = {
    "great_expectations": "pipelines.quality",
    "openlineage": "pipelines.lineage",
    "delta": "pipelines.delta",
    "numba": "replica.scan.kernels",
    "pyarrow.parquet": "pipelines.data_files",
    **dict.fromkeys(("jinja2", "markupsafe", "html"), "pipelines.html_text"),
}

SPARK_FOLDER = "pipelines.spark"
DELTA_FOLDER = "pipelines.delta"
_SAVES = ("save", "saveAsTable", "insertInto", "writeTo", "toTable")


@dataclass(frozen=True)
class Import:
    """One imported name. `target` is as deep as the tree shows (replica.format.batch.Batch)."""

    target: str
    line: int


def modules(root: Path) -> dict[str, Path]:
    """Dotted name -> file, for every module of the project below `root`."""
    found: dict[str, Path] = {}
    for top in TOP_LEVEL:
        for path in sorted((root / top).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def violations(root: Path) -> list[str]:
    """A line for each broken rule: file:line, what the module does, and what is allowed."""
    known = modules(root)
    found: list[str] = []
    for name, path in known.items():
        shown = path.relative_to(root)
        used, calls = _statements(path, name)
        for one in used:
            reason = _forbidden(name, one.target, known)
            if reason:
                found.append(f"{shown}:{one.line} imports {one.target}: {reason}")
        found += [f"{shown}:{line} {reason}" for line, reason in calls]
    return found


def _statements(path: Path, module: str) -> tuple[list[Import], list[tuple[int, str]]]:
    """A module's imports, and its calls that only other modules may make."""
    is_package = path.name == "__init__.py"
    return _statements_of(path.read_text(encoding="utf-8"), module, is_package=is_package)


@cache  # cached, because both rules read the whole tree, and parsing it takes a second
def _statements_of(
    text: str, module: str, *, is_package: bool
) -> tuple[list[Import], list[tuple[int, str]]]:
    nodes = nodes_of(text)
    return (
        list(imports(nodes, module, is_package=is_package)),
        list(_forbidden_calls(module, nodes)),
    )


def imports(nodes: Sequence[ast.AST], module: str, *, is_package: bool) -> Iterator[Import]:
    """Every import statement of a module, with relative imports made absolute."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                kept = parts[: len(parts) - node.level + is_package]
                base = ".".join([*kept, *([base] if base else [])])
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno)


def _within(name: str, folder: str) -> bool:
    return name == folder or name.startswith(f"{folder}.")


def _folder_of(name: str) -> str:
    return max((folder for folder in ALLOWED if _within(name, folder)), key=len)


def _forbidden(module: str, target: str, known: dict[str, Path]) -> str | None:
    for folder, banned in BANNED.items():
        for name, instead in banned.items():
            if _within(module, folder) and _within(target, name):
                return instead
    for name, place in ONLY_IN.items():
        if _within(target, name) and not _within(module, place):
            return f"only {place} imports {name}"
    return _forbidden_between_folders(module, target, known)


def _forbidden_between_folders(module: str, target: str, known: dict[str, Path]) -> str | None:
    if target.split(".")[0] not in TOP_LEVEL:
        return None
    folder = _folder_of(module)
    # A folder that isn't in the table belongs to its parent, and the parent's row is its rule.
    allowed = (*ALLOWED[folder], *EVERYONE)
    if folder == "replica" and module != "replica":
        return f"{module} lies in no folder of tests/architecture/rules.py: add a row for it"
    if _within(target, folder) or any(_within(target, other) for other in allowed):
        return None
    return f"{folder} may import {', '.join(allowed)}"


def _forbidden_calls(module: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if not _within(module, SPARK_FOLDER) and _builds_session(node):
            yield node.lineno, f"builds a Spark session: call {SPARK_FOLDER}.session.spark_session"
        if not _within(module, SPARK_FOLDER) and _asks_the_jvm(node):
            yield (
                node.lineno,
                f"asks Spark's JVM, which Connect lacks: only {SPARK_FOLDER} does",
            )
        if not _within(module, DELTA_FOLDER) and _writes_table(node):
            yield node.lineno, f"writes a table: only {DELTA_FOLDER} does"


def _builds_session(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "builder":
        return isinstance(node.value, ast.Name) and node.value.id == "SparkSession"
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "SparkContext"
    )


_OF_THE_JVM = ("sparkContext", "_jvm", "_jsparkSession", "_jdf", "_sc", "rdd")


def _asks_the_jvm(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _OF_THE_JVM


def _writes_table(node: ast.AST) -> bool:
    """Whether the call is `x.write...save()` or similar. `x.write` alone may be a file's method."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr == "writeTo":
        return True
    if node.func.attr not in (*_SAVES, "start"):
        return False
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("write", "writeStream")
        for part in ast.walk(node.func.value)
    )


def circles(root: Path) -> list[tuple[str, ...]]:
    """Modules of the project that import each other in a circle: each group once, sorted.

    Imports inside functions count, because they only hide a circle.
    """
    known = modules(root)
    graph = {name: _imported_modules(name, path, known) for name, path in known.items()}
    reached = {name: _reached(name, graph) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(groups)


def _imported_modules(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a module imports. `from a.b import c` imports a.b.c where
    that is a module."""
    targets = [used.target for used in _statements(path, name)[0]]
    named = (
        target if target in known else target.rpartition(".")[0]
        for target in targets
        if target.partition(".")[0] in TOP_LEVEL
    )
    return {target for target in named if target in known and target != name}


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Every module that `start` imports, directly or through other modules."""
    found: set[str] = set()
    waiting = set(graph[start])
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= graph[name] - found
    return found
