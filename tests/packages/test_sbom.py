"""The list of what kraftlake runs with: each package of the lock, once, as scanners read it."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

from tests.packages.building import REPOSITORY
from tests.packages.test_lock import RUNNING, locked, names, project

_SCRIPT = REPOSITORY / "packaging" / "sbom.py"
_PURL = re.compile(r"pkg:pypi/([a-z0-9-]+)@([0-9][A-Za-z0-9.]*)")


def test_it_lists_each_package_of_the_lock_with_the_lock_s_hashes() -> None:
    lock = (REPOSITORY / RUNNING).read_text(encoding="utf-8")
    listed = runpy.run_path(str(_SCRIPT))["bill_of_materials"](project(), lock)
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    components = listed["components"]
    assert len(components) == len(locked(RUNNING))
    assert {one["name"] for one in components} == names(RUNNING)
    references = [listed["metadata"]["component"]["bom-ref"], *(c["bom-ref"] for c in components)]
    assert len(set(references)) == len(references)
    for component, (entry, hashes) in zip(components, locked(RUNNING), strict=True):
        (pin,) = entry.specifier
        found = _PURL.fullmatch(component["purl"])
        assert found is not None, component["purl"]
        assert found.groups() == (component["name"], pin.version)
        (files,) = component["externalReferences"]
        assert len(files["hashes"]) == hashes
    required = {one["name"] for one in components if one["scope"] == "required"}
    assert required == {"crc32c", "cramjam", "prometheus-client", "typer"}
    assert listed["metadata"]["component"]["version"] == project()["version"]


def test_the_same_lock_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        subprocess.run([sys.executable, _SCRIPT, tmp_path / name], check=True, capture_output=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
