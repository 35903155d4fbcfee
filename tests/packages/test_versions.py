"""The version of this release stands in few places, which agree; and the table of supported
versions says what pyproject.toml, the locks and the tests with Kafka say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.interop.kafka_jars import VERSIONS
from tests.packages.building import REPOSITORY
from tests.packages.test_lock import RUNNING, locked, project

_NAMED = re.compile(r"\bkraftlake(?:-spark)?[-:](\d+\.\d+\.\d+)\b")
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def pages() -> Iterator[tuple[str, str]]:
    for folder in ("conf", "docs", "airflow/dags"):
        for path in sorted((REPOSITORY / folder).rglob("*.*")):
            if path.suffix in (".md", ".yaml", ".py", ".toml", ".service"):
                yield str(path.relative_to(REPOSITORY)), path.read_text(encoding="utf-8")


def rows() -> list[tuple[str, str, str]]:
    text = (REPOSITORY / "docs/reference/supported-versions.md").read_text(encoding="utf-8")
    return _ROW.findall(text)[1:]


def versions_of(what: str) -> list[str]:
    return [versions for name, versions, _ in rows() if name == what]


def pinned(name: str) -> str:
    (found,) = (
        next(iter(entry.specifier)).version
        for entry, _ in locked(RUNNING)
        if canonicalize_name(entry.name) == name
    )
    return str(found)


def test_every_place_that_names_a_version_of_kraftlake_names_this_one() -> None:
    wanted = project()["version"]
    found = {(name, version) for name, text in pages() for version in _NAMED.findall(text)}
    assert len(found) > 5
    assert {one for one in found if one[1] != wanted} == set()


def test_the_changelog_s_newest_release_is_this_one() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(one for one in re.findall(r"^## (\S+)", text, re.MULTILINE) if one[0].isdigit())
    assert newest.rstrip(",") == project()["version"]


def test_the_table_s_pythons_are_those_that_an_installation_allows() -> None:
    named = [one for text in versions_of("Python") for one in text.split(", ")]
    allowed = SpecifierSet(str(project()["requires-python"]))
    assert named == sorted(named, key=lambda one: int(one.split(".")[1]))
    assert all(f"{one}.0" in allowed for one in named)
    assert "3.10.0" not in allowed
    assert named[0] == "3.11"
    classified = [
        text.rpartition(" ")[2]
        for text in project()["classifiers"]
        if re.search(r":: 3\.\d+$", text)
    ]
    ran = [
        one
        for name, text, how in rows()
        if name == "Python" and not how.startswith("not run")
        for one in text.split(", ")
    ]
    assert classified == ran


def test_the_table_s_engines_are_those_of_the_lock() -> None:
    assert versions_of("Apache Spark") == [pinned("pyspark")]
    assert versions_of("Delta Lake for Spark") == [pinned("delta-spark")]
    (delta_rs,) = versions_of("delta-rs (deltalake)")
    assert delta_rs.startswith(f"{pinned('deltalake')}, `")
    asked = next(
        one for one in project()["optional-dependencies"]["lake"] if one.startswith("deltalake")
    )
    assert delta_rs.endswith(f"`{asked.removeprefix('deltalake')}`")
    airflow = (REPOSITORY / "airflow/requirements.lock").read_text(encoding="utf-8")
    (minor,) = versions_of("Apache Airflow")
    assert re.search(rf"^apache-airflow=={re.escape(minor)}\.", airflow, re.MULTILINE)


def test_the_table_s_kafkas_are_those_that_tests_run() -> None:
    (how,) = (how for name, _, how in rows() if name == "Apache Kafka")
    assert all(version in how for version in VERSIONS)
    (span,) = versions_of("Apache Kafka")
    assert span.endswith(f" to {'.'.join(VERSIONS[-1].split('.')[:2])}")
    recorded = {path.name.split("-")[1] for path in (REPOSITORY / "tests/data").glob("kafka-?.*")}
    assert all(version in how for version in recorded)
