"""A lake: its place, its tables without Spark, and its small files.

lake            `Lake`: its place, the paths of its tables, its small files
tables          which tables it holds
delta_rs        its tables opened by delta-rs, without Spark
json_view       its tables with JSON instead of VARIANT, for programs that know no VARIANT
delta_log       refuses a log with files or features that kraftlake does not write
footers         refuses Parquet files whose footer claims more bytes than the file has
library_text    escapes the text that libraries print on stderr
links           refuses symbolic links and pipes in a lake, and paths that lead out of it
lock, claims    one writer at a time, on a file system and in an object store
folder          whether a job may write to its folder
schema_version  the version of its tables' schemas
equality        whether two lakes hold the same rows
versions        bronze.lake_versions, the table of the releases that have written to it
passing_over    the types of records that its builds pass over
redaction       the key of its fingerprints
seal            the form in which it keeps hashes of files
forgetting      the note of what `kraftlake forget` is removing
"""

from __future__ import annotations

from pipelines.lake.lake import OWN, SCHEMAS, Lake

__all__ = ["OWN", "SCHEMAS", "Lake"]
