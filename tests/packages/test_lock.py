"""requirements.lock is what `make lock` makes of pyproject.toml; without the network."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import pairwise

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packages.building import REPOSITORY

LOCKED_EXTRAS = ("lake", "dev")
# A line of the lock goes on where it ends in a backslash; hashes are lines of their own.
_ENTRY = re.compile(
    r"^([A-Za-z0-9][^\n]*?) ?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)*)$", re.MULTILINE
)

_PIN = re.compile(r"uv pip compile ([^;\n]*)")


def project() -> dict[str, dict[str, list[str]]]:
    found = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(found, dict)
    return found


def locked() -> list[tuple[Requirement, int]]:
    """Each entry, and how many hashes it has."""
    text = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    return [(Requirement(entry), hashes.count("--hash=")) for entry, hashes in _ENTRY.findall(text)]


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


def test_make_pins_each_list_of_requirements_of_the_tree() -> None:
    """As `make -n` says, for any Python from the oldest on, with hashes."""
    told = subprocess.run(["make", "-n", "lock"], cwd=REPOSITORY, capture_output=True, check=True)
    pins = {words[0]: words[1:] for words in map(str.split, _PIN.findall(told.stdout.decode()))}
    for words in pins.values():
        assert {"--upgrade", "--generate-hashes", "--universal"} <= {*words}
        oldest = words[words.index("--python-version") + 1]
        assert f">={oldest}" == project()["requires-python"]
    ours = pins.pop("pyproject.toml")
    extras = [name for before, name in pairwise(ours) if before == "--extra"]
    assert tuple(extras) == LOCKED_EXTRAS
    tracked = ["git", "ls-files", "requirements.in", "*/requirements.in"]
    there = subprocess.run(tracked, cwd=REPOSITORY, capture_output=True, check=True)
    assert {*pins} == {*there.stdout.decode().split()}


def test_the_locked_versions_for_this_machine_are_installed() -> None:
    from importlib.metadata import version

    for entry, _ in locked():
        marker: Marker | None = entry.marker
        if marker is None or marker.evaluate():
            assert entry.specifier.contains(version(entry.name)), entry
