"""What kraftlake runs with, as a list for scanners of vulnerabilities and licences: CycloneDX.

    python packaging/sbom.py dist/kraftlake.cdx.json

The list has each package of requirements.lock: those that the core needs as required ones, those of
the extra `lake` and what both bring along as optional ones. The same lock gives the same bytes. It
has no test tools: they are in tests/requirements.lock, and nobody installs them with kraftlake.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
SPEC = "1.6"
_NAMESPACE = uuid.UUID("6f2d3b1e-0d57-4a53-9a40-6b1f6a1b0c2e")
_ENTRY = re.compile(r"^([A-Za-z0-9][^\n]*?) ?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+)$", re.M)
_HASH = re.compile(r"sha256:([0-9a-f]{64})")


def bill_of_materials(project: dict[str, Any], lock: str) -> dict[str, Any]:
    """The list of the packages that kraftlake runs with, as CycloneDX. project: the table `project`
    in pyproject.toml. lock: the lock's text."""
    core = {canonicalize_name(Requirement(one).name) for one in project["dependencies"]}
    components = [*_components(lock, core)]
    ours = {
        "type": "application",
        "bom-ref": _purl(project["name"], project["version"]),
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
        "purl": _purl(project["name"], project["version"]),
    }
    content = json.dumps([ours, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, content)}",
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
        "compositions": [{"aggregate": "complete", "assemblies": [ours["bom-ref"]]}],
    }


def _components(lock: str, core: set[str]) -> Iterator[dict[str, Any]]:
    for text, hashes in _ENTRY.findall(lock):
        entry = Requirement(text)
        (pin,) = entry.specifier
        name, purl = canonicalize_name(entry.name), _purl(entry.name, pin.version)
        found: dict[str, Any] = {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": pin.version,
            "scope": "required" if name in core else "optional",
            "purl": purl,
            # the files of the release, one for each platform and Python
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": purl,
                    "hashes": [{"alg": "SHA-256", "content": one} for one in _HASH.findall(hashes)],
                }
            ],
        }
        if entry.marker is not None:
            found["properties"] = [{"name": "kraftlake:marker", "value": str(entry.marker)}]
        yield found


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "dist" / "kraftlake.cdx.json"
    parser.add_argument("target", type=Path, nargs="?", default=default)
    target = parser.parse_args().target
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    listed = bill_of_materials(project, lock)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{target}: {len(listed['components'])} packages\n")


if __name__ == "__main__":
    main()
