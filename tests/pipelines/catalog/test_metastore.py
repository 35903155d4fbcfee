"""Which folders an embedded metastore is made in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.catalog.metastore import check_catalog_folder
from replica.errors import UsageError


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_folder_that_holds_other_things_is_refused(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "orders.csv").touch()
    (tmp_path / "derby.log").touch()
    with pytest.raises(
        UsageError, match=r": holds orders\.csv, and no metastore: name an empty or"
    ):
        check_catalog_folder(f"{prefix}{tmp_path}")


def test_a_metastore_and_an_empty_folder_are_taken(tmp_path: Path) -> None:
    check_catalog_folder(str(tmp_path / "none"))
    check_catalog_folder(str(tmp_path))
    (tmp_path / "derby.log").touch()
    check_catalog_folder(str(tmp_path))
    (tmp_path / "metastore_db").mkdir()
    (tmp_path / "orders.csv").touch()
    check_catalog_folder(str(tmp_path))
