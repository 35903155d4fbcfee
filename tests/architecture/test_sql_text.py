"""No SQL is put together from a text that pipelines.dialects hasn't written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import sql_text

REPOSITORY = Path(__file__).parents[2]
HEAD = "from pipelines.dialects import DATA_FUSION, Sql\n"


def test_all_sql_is_made_of_constants_numbers_and_what_a_dialect_wrote() -> None:
    tops = ("pipelines", "jobs", "replica", "airflow")
    files = [file for top in tops for file in sorted((REPOSITORY / top).rglob("*.py"))]
    assert len(files) > 300, "the checker sees the tree"
    found = sql_text.violations(REPOSITORY, files)
    assert not found, "\n".join(["", *found])


def _found(tmp_path: Path, code: str) -> list[str]:
    file = tmp_path / "module.py"
    file.write_text(HEAD + code)
    return list(sql_text.violations(tmp_path, [file]))


@pytest.mark.parametrize(
    "code",
    [
        "def f(name: str) -> str:\n    return f'SELECT * FROM {name}'",
        "def f(name):\n    return f'SELECT * FROM {name}'",
        "def f(name: str) -> str:\n    return 'SELECT * FROM ' + name",
        "def f(name: str) -> str:\n    return 'DROP TABLE %s' % name",
        "def f(name: str) -> str:\n    return 'SELECT {}'.format(name)",
        "def f(row: dict) -> str:\n    return f\"WHERE a = '{row['a']}'\"",
        "def f(a: list[str]) -> str:\n    return f\"WHERE a IN ({', '.join(a)})\"",
        "def f(a: str) -> str:\n    a = a.replace('x', 'y')\n    return f'WHERE a = {a}'",
        "def f(a: str) -> str:\n    b = a\n    return f'WHERE a = {b}'",
        "def f(a: str) -> str:\n    return f\"SELECT {'x' if a else a}\"",
        "def f(self) -> str:\n    return f'SELECT 1 FROM t WHERE a = {self.name}'",
        "async def f(name: str) -> str:\n    return f'SELECT * FROM {name}'",
        "f = lambda name: f'SELECT * FROM {name}'",
    ],
)
def test_a_text_of_somebody_else_in_sql_is_found(tmp_path: Path, code: str) -> None:
    assert _found(tmp_path, code)


@pytest.mark.parametrize(
    "code",
    [
        "TABLE = 't'\ndef f() -> Sql:\n    return f'SELECT * FROM {TABLE}'",
        "def f(a: str) -> Sql:\n    return f'WHERE a = {DATA_FUSION.literal(a)}'",
        "def f(a: int) -> Sql:\n    return f'WHERE a = {a}'",
        "def f(a: dict) -> Sql:\n    return f\"WHERE a = {a['x']:d}\"",
        "def f(where: Sql) -> Sql:\n    return f'SELECT 1 FROM t WHERE {where}'",
        "def f(a: list[str]) -> Sql:\n"
        "    each = ', '.join(map(DATA_FUSION.literal, a))\n"
        "    return f'WHERE a IN ({each})'",
        "def f(name: str) -> str:\n    return f'no table {name}: run build and look'",
    ],
)
def test_what_a_dialect_wrote_passes(tmp_path: Path, code: str) -> None:
    assert _found(tmp_path, code) == []
