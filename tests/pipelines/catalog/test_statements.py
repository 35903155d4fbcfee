"""The SQL for names in a catalog, and what a catalog says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.asking.sql_views import VIEWS
from jobs.cli.sharing.register import views_of
from pipelines.catalog.metastore import metastore_settings, properties_text
from pipelines.catalog.registration import CatalogEntry, catalog_error, entry_of, same_place
from pipelines.catalog.statements import (
    LAYERS,
    NamedQuery,
    create_database,
    create_table,
    create_view,
)
from pipelines.conf_files import read_properties
from pipelines.tables.of_a_lake import TABLES
from replica.errors import UsageError

INFORMATION = """\
Catalog: spark_catalog
Database: gold
Table: findings
Owner: root
Type: EXTERNAL
Provider: delta
Comment: Each finding of check.
Location: file:/data/the%20lake/gold/findings
"""


def test_every_table_is_named_where_it_lies_with_its_description() -> None:
    for contract in TABLES:
        assert contract.schema_name in LAYERS
        description = contract.description.replace("'", "\\'")
        assert create_table(f"p_{contract.name}", contract, "s3a://b/it's") == (
            f"CREATE TABLE IF NOT EXISTS p_{contract.name} USING DELTA "
            f"LOCATION 's3a://b/it\\'s' COMMENT '{description}'"
        )


def test_a_database_names_its_lake_and_its_location() -> None:
    assert create_database("p_gold", "gold", "/data/lake", "/w/p_gold.db") == (
        "CREATE DATABASE IF NOT EXISTS p_gold "
        "COMMENT 'Answers: epochs, divergences, losses, metadata over time, findings.' "
        "LOCATION '/w/p_gold.db' WITH DBPROPERTIES ('kraftlake.lake' = '/data/lake')"
    )


def test_a_view_has_its_columns_meaning() -> None:
    view = NamedQuery("gold.v", "What is", (("a", "one"), ("b", "it's two")), "SELECT 1, 2")
    assert create_view(view, "/data/lake") == (
        "CREATE OR REPLACE VIEW gold.v (a COMMENT 'one', b COMMENT 'it\\'s two') "
        "COMMENT 'What is' TBLPROPERTIES ('kraftlake.lake' = '/data/lake') AS SELECT 1, 2"
    )


def test_views_read_the_tables_of_their_own_prefix() -> None:
    views = views_of("p_")
    assert [view.name for view in views] == [f"p_{view.name}" for view in VIEWS]
    for view in views:
        assert view.query.count("p_gold.metadata_history") == 1
        assert view.query.count("gold.metadata_history") == 1
        assert "asked for" not in view.description


def test_an_entry_of_the_catalog_is_read() -> None:
    assert entry_of("gold.findings", INFORMATION) == CatalogEntry(
        "gold.findings", "table", "file:/data/the%20lake/gold/findings", is_external=True
    )
    view = "Type: VIEW\nTable Properties: [a=b, kraftlake.lake=/data/lake, view.x=y]\n"
    assert entry_of("gold.v", view) == CatalogEntry("gold.v", "view", lake="/data/lake")
    assert entry_of("gold.t", "Type: MANAGED\nLocation: s3a://b/t") == CatalogEntry(
        "gold.t", "table", "s3a://b/t"
    )


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("file:/data/the%20lake/t", "/data/the lake/t", True),
        ("file:///data/t/", "/data/t", True),
        ("s3a://b/lake/t", "s3://b/lake/t", True),
        ("/data/t", "/data/t2", False),
        ("s3a://b/t", "/b/t", False),
    ],
)
def test_locations_are_compared_by_the_place_that_they_name(a: str, b: str, same: bool) -> None:
    assert same_place(a, b) is same


def test_a_folder_becomes_an_embedded_metastore_with_all_its_files_inside(tmp_path: Path) -> None:
    settings = metastore_settings(str(tmp_path / "the catalog"))
    folder = tmp_path / "the catalog"
    assert settings["spark.sql.catalogImplementation"] == "hive"
    assert settings["spark.hadoop.javax.jdo.option.ConnectionURL"] == (
        f"jdbc:derby:;databaseName={folder}/metastore_db;create=true"
    )
    assert settings["spark.sql.warehouse.dir"] == f"{folder}/warehouse"
    file = tmp_path / "spark.conf"
    file.write_text(properties_text(settings))
    assert read_properties(file) == settings


def test_a_uri_is_a_metastore_service() -> None:
    two = "thrift://a:9083,thrift://b.c:9083"
    assert metastore_settings(two) == {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": two,
    }


@pytest.mark.parametrize("catalog", ["thrift://a", "hdfs://a/b", "thrift://a:1,b:2", "a;b", 'a"b'])
def test_a_catalog_that_nothing_can_open_is_refused(catalog: str) -> None:
    with pytest.raises(UsageError, match="--catalog"):
        metastore_settings(catalog)


def test_errors_of_a_metastore_become_one_line_that_says_what_to_do() -> None:
    locked = (
        "Unable to open a test connection\njava.sql.SQLException: ERROR XSDB6: Another instance of "
        "Derby may have already booted the database /my data/catalog/metastore_db.\n"
    )
    assert str(catalog_error(locked)) == (
        "/my data/catalog/metastore_db is open in another process, and Derby serves one at a time: "
        "end the spark-sql, Thrift server or notebook that has it, or use a Hive metastore service"
    )
    away = (
        "MetaException(message:Could not connect to meta store using any of the URIs provided. "
        "Most recent failure: org.apache.thrift.transport.TTransportException: "
        "java.net.ConnectException: Connection refused\n\tat org.apache.thrift"
    )
    assert str(catalog_error(away)) == (
        "no Hive metastore answers (org.apache.thrift.transport.TTransportException: "
        "java.net.ConnectException: Connection refused): check --catalog"
    )
    assert str(catalog_error("A\n\nB: disk full\n")) == "the catalog failed: B: disk full"
