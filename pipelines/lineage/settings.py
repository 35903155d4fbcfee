"""Where the events of jobs go, by the variables and files that the user named."""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.conf_files import conf_directory, read_defaults

FILE_VARIABLE = "KRAFTLAKE_LINEAGE"


def wanted_transport() -> str | None:
    """The file to which events are appended; "" where OpenLineage's own settings name the place;
    None where events are off. Raises UsageError where conf/kraftlake.toml has an error."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return named
    if _has_own_settings():
        return ""
    return read_defaults(conf_directory()).lineage_file


def _has_own_settings() -> bool:
    if os.environ.get("OPENLINEAGE_URL") or os.environ.get("OPENLINEAGE_CONFIG"):
        return True
    if any(name.startswith("OPENLINEAGE__TRANSPORT") for name in os.environ):
        return True
    return own_config().is_file()


def own_config() -> Path:
    """The path of the user's own settings of OpenLineage. OpenLineage would first take a file in
    the current folder; kraftlake ignores that file, because it may be a stranger's."""
    return Path.home() / ".openlineage" / "openlineage.yml"
