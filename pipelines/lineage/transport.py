"""Whether and where events go. Off unless somebody says where.

First to last: KRAFTLAKE_LINEAGE, a file; what OpenLineage's own clients go by, that is variables
OPENLINEAGE_*, or openlineage.yml here or in ~/.openlineage; [lineage] file of conf/kraftlake.toml.
OPENLINEAGE_DISABLED=true turns all of it off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipelines.conf_files import conf_directory, read_defaults

FILE_VARIABLE = "KRAFTLAKE_LINEAGE"
_CONFIG = "openlineage.yml"


def wanted_transport(environment: Mapping[str, str] = os.environ) -> str | None:
    """A file that events are appended to, "" where OpenLineage's own settings say, None for off.

    UsageError: conf/kraftlake.toml is not understood.
    """
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    named = environment.get(FILE_VARIABLE)
    if named:
        return named
    if _has_own_settings(environment):
        return ""
    return read_defaults(conf_directory()).lineage_file


def _has_own_settings(environment: Mapping[str, str]) -> bool:
    if environment.get("OPENLINEAGE_URL") or environment.get("OPENLINEAGE_CONFIG"):
        return True
    if any(name.startswith("OPENLINEAGE__TRANSPORT") for name in environment):
        return True
    return any((folder / _CONFIG).is_file() for folder in _folders())


def _folders() -> tuple[Path, ...]:
    return Path.cwd(), Path.home() / ".openlineage"
