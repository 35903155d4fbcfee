"""A lake: where it lies, and what lies in it beside its tables.

lake            `Lake`: its place, the paths of its tables, its small files
tables          which tables it holds
delta_rs        its tables opened by delta-rs, without Spark
links           what a lake of somebody else may not hold
lock, claims    one writer at a time, on a file system and in an object store
folder          whether a job may write there at all
schema_version  which release's tables it holds
versions        bronze.lake_versions, the table of who wrote it
redaction       the key of its fingerprints
seal            hashes of files, as a lake keeps them
forgetting      what of it is to be forgotten
"""

from __future__ import annotations

from pipelines.lake.lake import SCHEMAS, Lake

__all__ = ["SCHEMAS", "Lake"]
