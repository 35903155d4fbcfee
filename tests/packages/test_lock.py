"""The two locks are what `make lock` makes of pyproject.toml; without the network."""

from __future__ import annotations

import re
import subprocess
import tomllib

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packages.building import REPOSITORY

RUNNING, TESTING = "requirements.lock", "tests/requirements.lock"
LOCKED_EXTRAS = {"lake", "dev"}
TEST_TOOLS = {"hypothesis", "jsonschema", "mypy", "playwright", "polars", "pytest", "ruff"}
# A line of the lock goes on where it ends in a backslash; hashes are lines of their own.
_ENTRY = re.compile(
    r"^([A-Za-z0-9][^\n]*?) ?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)*)$", re.MULTILINE
)


def project() -> dict[str, dict[str, list[str]]]:
    found = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def locked(*files: str) -> list[tuple[Requirement, int]]:
    """Each entry of these locks, or of both, and how many hashes it has."""
    texts = ((REPOSITORY / one).read_text(encoding="utf-8") for one in files or (RUNNING, TESTING))
    found = (_ENTRY.findall(text) for text in texts)
    return [(Requirement(entry), hashes.count("--hash=")) for one in found for entry, hashes in one]


def names(*files: str) -> set[str]:
    return {canonicalize_name(entry.name) for entry, _ in locked(*files)}


def wanted() -> list[Requirement]:
    extras = project()["optional-dependencies"]
    texts = [*project()["dependencies"], *(each for name in LOCKED_EXTRAS for each in extras[name])]
    return [Requirement(text) for text in texts]


def test_every_dependency_is_locked_within_its_bounds() -> None:
    """One that is added to pyproject.toml alone would not be installed: `make lock`."""
    versions: dict[str, list[str]] = {}
    for entry, _ in locked():
        (pin,) = entry.specifier
        versions.setdefault(canonicalize_name(entry.name), []).append(pin.version)
    wrong = [
        f"{each} (locked: {versions.get(canonicalize_name(each.name), 'not at all')})"
        for each in wanted()
        if not (found := versions.get(canonicalize_name(each.name)))
        or not all(each.specifier.contains(version) for version in found)
    ]
    assert not wrong, f"run make lock: {wrong}"


def test_setup_installs_what_running_needs_and_no_test_tool() -> None:
    running = {canonicalize_name(Requirement(one).name) for one in running_needs()}
    assert running <= names(RUNNING)
    assert not names(RUNNING) & TEST_TOOLS - {"jsonschema"}  # Great Expectations needs that one
    assert not names(RUNNING) & names(TESTING)


def running_needs() -> list[str]:
    return [
        *project()["dependencies"],
        *project()["optional-dependencies"]["lake"],
        "setuptools",  # builds the editable installation
    ]


def test_every_entry_is_one_version_with_hashes() -> None:
    """pip then takes no file that was not there when the lock was made."""
    entries = locked()
    assert len(entries) > len(wanted())
    for entry, hashes in entries:
        assert [pin.operator for pin in entry.specifier] == ["=="], entry
        assert hashes, f"{entry} has no hash"
        assert entry.url is None


def test_the_extra_lake_has_all_of_scan_and_of_s3() -> None:
    """The lock is made of `lake`: what another one has alone would not be in it."""
    extras = project()["optional-dependencies"]
    assert {*extras["scan"], *extras["s3"]} <= set(extras["lake"])


def test_the_lock_is_made_by_make_from_what_these_tests_read() -> None:
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lock:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert set(re.findall(r"--extra (\w+)", recipe)) == LOCKED_EXTRAS
    assert {one for one in (RUNNING, TESTING) if f"-o {one}" in recipe} == {RUNNING, TESTING}
    (pinning,) = re.findall(r"^PIN := ((?:.*\\\n)*.*)", text, re.MULTILINE)
    assert {"--upgrade", "--generate-hashes", "--universal"} <= set(pinning.split())
    python = re.search(r"--python-version (\S+)", pinning)
    assert python is not None
    assert f">={python[1]}" == project()["requires-python"]


def test_each_other_list_of_requirements_has_its_lock_made() -> None:
    told = subprocess.run(["make", "-n", "lock"], cwd=REPOSITORY, capture_output=True, check=True)
    (made,) = re.findall(r"for one in ([^;]+);", told.stdout.decode())
    tracked = ["git", "ls-files", "*/requirements.in"]
    there = subprocess.run(tracked, cwd=REPOSITORY, capture_output=True, check=True)
    assert {f"{one}/requirements.in" for one in made.split()} == {*there.stdout.decode().split()}


def test_the_locked_versions_for_this_machine_are_installed() -> None:
    from importlib.metadata import version

    for entry, _ in locked():
        marker: Marker | None = entry.marker
        if marker is None or marker.evaluate():
            assert entry.specifier.contains(version(entry.name)), entry
