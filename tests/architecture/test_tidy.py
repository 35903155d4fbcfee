"""What a linter doesn't hold: sizes, names, docstrings, what the wheel and the tree contain."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

REPOSITORY = Path(__file__).parents[2]
TOP_LEVEL = ("replica", "pipelines", "jobs", "kraftlake")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}

# From parts, or this file would hold what it looks for. Registries are named by clients' own
# settings; a host written down here would be asked on machines that can't reach it.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("central", "sonatype", "com"),
        ("oss", "sonatype", "org"),
        ("registry", "npmjs", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
    )
)


def python_files(root: Path, *tops: str) -> Iterator[Path]:
    for top in tops:
        yield from sorted((root / top).rglob("*.py"))


def long_files(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: {lines} lines, at most {MAX_FILE_LINES}: split it"
        for path in python_files(root, *TOP_LEVEL, "tests", "airflow")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_FILE_LINES
    ]


@dataclass(frozen=True)
class Syntax:
    """Of a module. long_functions: line, name and number of lines of those that are too long.
    unpacked: the lines in which a tuple is behind a star."""

    has_docstring: bool
    long_functions: list[tuple[int, str, int]]
    unpacked: list[int]


@cache  # three checks look at it, and parsing the tree takes seconds
def syntax_of(path: Path) -> Syntax:
    text = path.read_text(encoding="utf-8")
    # the nodes of tests are needed here alone, and are too many to keep
    of_tests = REPOSITORY / "tests" in path.parents
    nodes = tuple(ast.walk(ast.parse(text))) if of_tests else nodes_of(text)
    module = nodes[0]
    assert isinstance(module, ast.Module)
    syntax = Syntax(bool(ast.get_docstring(module)), [], [])
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                syntax.long_functions.append((node.lineno, node.name, lines))
        elif isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple):
            syntax.unpacked.append(node.lineno)
    return syntax


def long_functions(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{line} {name}: {lines} lines, at most {MAX_FUNCTION_LINES}: "
        "split it"
        for path in python_files(root, *TOP_LEVEL, "tests", "airflow")
        for line, name, lines in syntax_of(path).long_functions
    ]


def lines_saved_by_unpacking(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{line}: unpacks a tuple to have several values in a "
        "line: write the values, and `# fmt: skip` behind the table"
        for path in python_files(root, *TOP_LEVEL, "tests")
        for line in syntax_of(path).unpacked
    ]


def vague_modules(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: name it after what it does"
        for path in python_files(root, *TOP_LEVEL, "tests", "airflow")
        if VAGUE_NAMES & set(path.relative_to(root).with_suffix("").parts)
    ]


def modules_without_docstring(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: no docstring that says what it is for"
        for path in python_files(root, *TOP_LEVEL, "tests", "airflow")
        if not syntax_of(path).has_docstring
    ]


def named_hosts(root: Path, files: list[str]) -> list[str]:
    found = []
    for name in files:
        path = root / name
        if not path.is_file():
            continue  # deleted, not yet committed
        text = path.read_bytes().lower()
        found += [f"{name}: names {host}" for host in REGISTRY_HOSTS if host.encode() in text]
    return found


def tracked_files() -> list[str]:
    """What git has or would take: committed and new files, none that are ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    return listed.stdout.decode().strip("\0").split("\0")


@pytest.mark.parametrize(
    "check",
    [
        long_files,
        long_functions,
        lines_saved_by_unpacking,
        vague_modules,
        modules_without_docstring,
    ],
)
def test_the_tree_is_tidy(check) -> None:  # type: ignore[no-untyped-def]
    found = check(REPOSITORY)
    assert not found, "\n".join(["", *found])


def test_no_registry_is_named() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout, so which files are ours is unknown")
    files = tracked_files()
    assert "pyproject.toml" in files
    found = named_hosts(REPOSITORY, files)
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("name", ["airflow", "dbt"])
def test_a_folder_that_is_called_like_a_package_is_none(name: str) -> None:
    """An __init__.py there would hide the real airflow from every DAG, and the real dbt."""
    assert not list((REPOSITORY / name).rglob("__init__.py"))


def test_the_wheel_has_our_three_packages_at_top_level() -> None:
    from setuptools import find_packages

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    find = project["tool"]["setuptools"]["packages"]["find"]
    packages = find_packages(str(REPOSITORY), **find)

    there = {top for top in TOP_LEVEL if (REPOSITORY / top).is_dir()}
    assert {package.split(".")[0] for package in packages} == there
    folders = {
        ".".join(path.parent.relative_to(REPOSITORY).parts)
        for path in python_files(REPOSITORY, *TOP_LEVEL)
    }
    assert folders == set(packages), "a folder with modules but no __init__.py is left out"


class TestTheChecksThemselves:
    """Each must be able to fail."""

    def test_sizes_names_docstrings(self, tmp_path: Path) -> None:
        body = "    x = 1\n"
        folder = tmp_path / "jobs"
        folder.mkdir()
        (folder / "utils.py").write_text("def f():\n" + body * MAX_FUNCTION_LINES)
        (folder / "long.py").write_text('"""Long."""\n' + "x = 1\n" * MAX_FILE_LINES)
        (folder / "fine.py").write_text('"""Fine."""\ndef f():\n' + body * (MAX_FUNCTION_LINES - 1))
        assert [line.split(":")[0] for line in long_files(tmp_path)] == ["jobs/long.py"]
        assert [line.split()[0] for line in long_functions(tmp_path)] == ["jobs/utils.py:1"]
        assert [line.split(":")[0] for line in vague_modules(tmp_path)] == ["jobs/utils.py"]
        assert [line.split(":")[0] for line in modules_without_docstring(tmp_path)] == [
            "jobs/utils.py"
        ]

    def test_values_behind_a_star(self, tmp_path: Path) -> None:
        (tmp_path / "jobs").mkdir()
        (tmp_path / "jobs" / "names.py").write_text(
            'NAMES = (\n    *("a", "b"),\n    *OTHERS,\n)\n'
        )
        assert [line.split()[0] for line in lines_saved_by_unpacking(tmp_path)] == [
            "jobs/names.py:2:"
        ]

    @pytest.mark.parametrize("host", REGISTRY_HOSTS)
    def test_hosts(self, tmp_path: Path, host: str) -> None:
        (tmp_path / "a.md").write_text(f"see HTTPS://{host.upper()}/x")
        (tmp_path / "b.md").write_text("see the registry")
        assert named_hosts(tmp_path, ["a.md", "b.md", "gone.md"]) == [f"a.md: names {host}"]
