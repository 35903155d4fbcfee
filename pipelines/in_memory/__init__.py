"""The derived tables of a small lake, computed in this process: no JVM is started.

Each module of this package makes rows of some tables from rows of others. Rows are dicts, column
name to value, as pyarrow gives them: times are aware datetimes, a VARIANT is a dict of two byte
strings. pipelines.silver and pipelines.gold compute the same tables with Spark, for lakes of any
size; tests hold the two to equal rows.
"""
