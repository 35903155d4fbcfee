"""Processes that kraftlake starts: a Python never imports from the current folder."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

MAY_NAME_THE_INTERPRETER = {
    "replica/import_path.py",  # It adds -P.
    "replica/installation.py",  # It names it in a line for the user.
    "pipelines/spark/session.py",
    "pipelines/spark/settings.py",  # Both for Spark's workers.
}
MAY_START_A_PROCESS = {
    "replica/scan/compiler.py": "python_of",
    "replica/scan/readiness.py": "python_of",
    "pipelines/quality/data_docs.py": "python_of",
    "pipelines/spark/java.py": "the user's Java",
    "pipelines/spark/jars.py": "the user's Java",
    "pipelines/spark/jvm.py": "Spark's JVM",
    "jobs/cli/asking/sql_prompt.py": "the user's pager",
}


def names_in(path: Path) -> set[str]:
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    found = {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    return found | imported


def modules_with(*names: str) -> set[str]:
    return {
        str(path.relative_to(REPOSITORY))
        for path in python_files(REPOSITORY, *TOP_LEVEL)
        if names_in(path) & set(names)
    }


def test_the_interpreter_is_named_only_where_the_current_folder_is_left_out() -> None:
    assert modules_with("sys.executable") <= MAY_NAME_THE_INTERPRETER


def test_other_programs_are_started_by_few_modules() -> None:
    starts = ("subprocess", "os.system", "os.popen", "os.execv", "os.execvp", "os.spawnv")
    assert modules_with(*starts) <= set(MAY_START_A_PROCESS)
